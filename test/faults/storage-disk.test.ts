import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { sync } from '../../src/index.ts';
import { type SyncError, toSyncError } from '../../src/model/errors.ts';
import type { RunReport } from '../../src/model/run-report.ts';
import { readRecentRuns } from '../../state/recent-runs.ts';
import { keepFolder } from '../crash/crash-states.ts';
import { type Outcome, readOutcome } from '../crash/read-outcome.ts';
import { type ChildProject, createChildProject } from '../support/cli-child.ts';
import { hookSteps, type Step } from '../support/io-steps.ts';
import { chooseStride, countRuns, leastSeen, seed } from '../support/seeds.ts';
import {
  createItemsFlow,
  DAY_MS,
  type Flow,
  makeFolder,
  makeItem,
  makeItems,
} from '../support/sync-harness.ts';

const ITEMS = makeItems(150);
const options = {
  stream: { pageSize: 40, cursor: false },
  config: { quota: { burstPerSecond: 1 } },
} as const;

/** How a sync ended, whether it returned a report or threw. */
async function endOf(
  running: Promise<RunReport>,
): Promise<{ exitCode: number; error?: SyncError | RunReport['error'] }> {
  return running.then(
    ({ exitCode, error }) => ({ exitCode, error }),
    (thrown: unknown) => ({ exitCode: toSyncError(thrown).exitCode, error: thrown as SyncError }),
  );
}

/** A project that has synced once, and whose source has moved on since. */
async function createMovedOn(folder?: string): Promise<{ flow: Flow; before: Outcome; after: Outcome }> {
  const flow = createItemsFlow(ITEMS, { ...options, ...(folder !== undefined && { folder }) });
  expect((await flow.sync()).exitCode).toBe(0);
  const before = await readOutcome(flow.duckdbPath);
  await flow.clock.sleep(1.2 * DAY_MS);
  flow.simulator.editRecords('items', (records) => [
    ...records,
    ...Array.from({ length: 40 }, (_, at) => ({ ...makeItem(9_000 + at), note: 'x'.repeat(2_000) + at })),
  ]);
  const restore = keepFolder(flow.folder);
  expect((await flow.sync()).exitCode).toBe(0);
  const after = await readOutcome(flow.duckdbPath);
  restore();
  return { flow, before, after };
}

function failureOf({ name }: Step): Error {
  const [call = ''] = name.split(' ');
  if (call === 'sql')
    return new Error('IO Error: Could not write file "work.duckdb.wal": No space left on device');
  return Object.assign(new Error(`EIO: i/o error, ${call}`), { code: 'EIO', errno: -5, syscall: call });
}

describe('a disk that refuses one step of a sync, each in turn,', () => {
  it(
    'makes it end with 6 or harms nothing, readers see whole files, and the next run makes it good',
    { timeout: 600_000 },
    async () => {
      const { flow, before, after } = await createMovedOn();
      const restore = keepFolder(flow.folder);
      const stride = chooseStride(30);
      let refusals = 0;
      for (let n = 1 + (seed % stride); ; n += stride) {
        restore();
        let failed: Step | undefined;
        const undo = await hookSteps(
          {
            before: (step) => {
              if (step.n !== n) return;
              failed = step;
              throw failureOf(step);
            },
          },
          (path) => path.startsWith(flow.folder),
        );
        const end = await endOf(flow.sync()).finally(undo);
        if (failed === undefined) break;
        const where = `SLUICE_SEED=${seed}, step ${n}, ${failed.name}: ${end.error?.message}`;
        expect([0, 6], where).toContain(end.exitCode);
        if (end.exitCode === 6) refusals += 1;
        const seen = await readOutcome(flow.duckdbPath);
        if (end.exitCode === 0) expect(seen, where).toEqual(after);
        else expect([before, after], where).toContainEqual(seen);
        expect(end.error?.hint ?? '', where).toMatch(end.exitCode === 0 ? /^$/ : /.{20}/);
        expect(await endOf(flow.sync()), where).toEqual({ exitCode: 0, error: undefined });
        expect(await readOutcome(flow.duckdbPath), where).toEqual(after);
      }
      expect(refusals).toBeGreaterThan(leastSeen(3));
    },
  );
});

/** A disk of its own kind, as small as a test likes; undefined where this user may not mount one. */
function mountDisk(): string | undefined {
  const folder = makeFolder();
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', folder]);
  return mounted.status === 0 ? folder : undefined;
}

const disk = mountDisk();

// Needs the right to mount a tmpfs.
describe.skipIf(disk === undefined)('a full disk', () => {
  const folder = disk ?? '';
  afterAll(() => {
    spawnSync('umount', [folder]);
  });

  function leaveFree(bytes: number): void {
    const { blocks, bfree, bsize } = statfsSync(folder);
    const size = Math.max(1, Math.ceil(((blocks - bfree) * bsize + bytes) / bsize)) * bsize;
    expect(spawnSync('mount', ['-o', `remount,size=${size}`, folder]).status).toBe(0);
  }

  it(
    'at any moment of a sync: exit 6, readers keep whole files, and once there is space one run makes it good',
    { timeout: 600_000 },
    async () => {
      const { flow, before, after } = await createMovedOn(join(folder, 'project'));
      const restore = keepFolder(flow.folder);
      const codes: number[] = [];
      const ends: string[] = [];
      const step = Math.round(4_200_000 / countRuns(6));
      for (let free = seed % 4_096; codes.at(-1) !== 0; free += step) {
        leaveFree(64 * 2 ** 20);
        restore();
        leaveFree(free);
        const end = await endOf(flow.sync());
        const where = `${free} bytes free, ${end.error?.message}`;
        expect([0, 6], where).toContain(end.exitCode);
        if (codes.length === 0) expect(end.error?.hint, where).toMatch(/free some space/);
        codes.push(end.exitCode);
        leaveFree(64 * 2 ** 20);
        const seen = await readOutcome(flow.duckdbPath);
        if (end.exitCode === 6) expect([before, after], where).toContainEqual(seen);
        const [last] = readRecentRuns(flow.stateDir);
        expect(end.exitCode === 0 ? ['complete'] : ['complete', 'failed'], where).toContain(last?.status);
        expect(await endOf(flow.sync()), where).toEqual({ exitCode: 0, error: undefined });
        expect(await readOutcome(flow.duckdbPath), where).toEqual(after);
        const runs = await flow.query('SELECT status, exit_code FROM _sluice.runs ORDER BY started_at');
        ends.push(...runs.map(({ status, exit_code: code }) => `${String(status)} ${String(code)}`));
      }
      expect(ends.filter((end) => end !== 'complete 0' && end !== 'failed 6')).toEqual([]);
      expect(codes.length).toBeGreaterThan(leastSeen(3));
    },
  );
});

const canTrace = spawnSync('strace', ['-qq', '-e', 'trace=none', 'true']).status === 0;
const projects: ChildProject[] = [];
afterEach(async () => {
  await Promise.all(projects.splice(0).map(({ server }) => server.close()));
});

// Needs strace, which makes system calls fail.
describe.skipIf(!canTrace)('fsync that fails', () => {
  it(
    'is never taken for a commit: exit 6, and the next run makes it good',
    { timeout: 600_000 },
    async () => {
      const project = await createChildProject({ records: ITEMS, stream: { pageSize: 40 } });
      projects.push(project);
      const codes: (number | null)[] = [];
      for (let nth = 1; codes.at(-1) !== 0; nth += 1) {
        rmSync(project.folder, { recursive: true });
        mkdirSync(project.folder);
        project.writeConfig();
        const inject = `inject=fsync,fdatasync:error=EIO:when=${nth}`;
        const within = [
          'strace',
          '-f',
          '-qq',
          '--seccomp-bpf',
          '-o',
          '/dev/null',
          '-e',
          'trace=fsync,fdatasync',
          '-e',
          inject,
        ];
        const end = await project.run(['sync', '--no-progress', '--json'], { within });
        expect([0, 6], `fsync ${nth}: ${end.stdout}${end.stderr}`).toContain(end.exitCode);
        codes.push(end.exitCode);
        expect(await sync(project.config)).toMatchObject({ exitCode: 0 });
        const { tables } = await readOutcome(project.duckdb);
        expect(tables['items']?.rows).toHaveLength(ITEMS.length);
      }
      expect(codes.length).toBeGreaterThan(leastSeen(2));
    },
  );
});
