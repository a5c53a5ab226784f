import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { collectMetrics } from '../../src/metrics/collect-metrics.ts';
import type { StatusReport } from '../../src/model/reports.ts';
import { DEMO_KEY } from '../../src/simulator/simulator-options.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { lockStateFolder } from '../../state/lock.ts';
import { type CliProject, type CliWorld, createCliProject } from '../faults/kit/cli-project.ts';
import { createSimulatorTransport } from '../support/simulator-transport.ts';
import { createItemsFlow, DAY_MS, makeFolder, makeItems } from '../support/sync-harness.ts';

const NO_KEY: CliWorld = { env: { ANALYTICS_API_KEY: undefined } };

/** A project that syncs every night, and a look at it in the morning. */
function createNights(folder = makeFolder()) {
  const simulator = createSimulator({
    builtIns: false,
    endpoints: { items: { paginated: true, records: () => makeItems(20) } },
  });
  const project = createCliProject({
    baseUrl: 'http://127.0.0.1:9/api/v1',
    apiKey: DEMO_KEY,
    folder,
    transport: (clock) => createSimulatorTransport(simulator, clock),
  });
  return {
    project,
    config: join(folder, 'sluice.yaml'),
    night: async (world?: CliWorld, argv: readonly string[] = []): Promise<number> => {
      await project.clock.sleep(DAY_MS);
      return (await project.run(['sync', '--no-progress', ...argv], world)).exitCode;
    },
    look: () => lookAt(project),
    read: async () => (await project.run(['status'], NO_KEY)).stdout,
  };
}

async function lookAt(project: CliProject) {
  const { stdout } = await project.run(['status', '--json'], NO_KEY);
  const { result, summary } = JSON.parse(stdout) as { result: StatusReport; summary: string };
  return { summary, refused: result.refused, lastRun: result.lastRun };
}

describe('the morning after a sync that was refused', () => {
  it('says when, with which code, why and what to do, until a sync is on record', async () => {
    const { project, night, look, read } = createNights();
    expect(await night()).toBe(0);
    expect((await look()).refused).toBeNull();
    const before = project.clock.now();
    expect(await night(NO_KEY)).toBe(2);
    expect(await night(NO_KEY)).toBe(2);
    const startedAt = new Date(before + 2 * DAY_MS).toISOString();
    const { summary, refused } = await look();
    expect(refused).toEqual({
      startedAt,
      times: 2,
      since: new Date(before + DAY_MS).toISOString(),
      error: {
        code: 'key_missing',
        exitCode: 2,
        message: expect.stringContaining('ANALYTICS_API_KEY is not set') as string,
        hint: expect.stringContaining('Set it') as string,
      },
    });
    expect(summary).toBe('1 of 1 stream verified, 0 fresh, the last sync was refused (exit code 2)');
    expect(await read()).toMatch(
      /^2 syncs in a row since .* UTC were refused before they began, the last .* \(exit code 2\): .*ANALYTICS_API_KEY is not set\n {2}next: Set it/m,
    );
    expect((await project.run(['runs'], NO_KEY)).stdout).toContain('2 syncs in a row since');
    const report = await project.run(['report', '--json'], NO_KEY);
    expect(JSON.parse(report.stdout)).toMatchObject({
      result: {
        headline: expect.stringMatching(/^The last sync was refused before it began; /) as string,
        findings: expect.arrayContaining([
          {
            tone: 'bad',
            what: expect.stringContaining('2 syncs in a row, from') as string,
            todo: expect.stringContaining('Set it') as string,
          },
        ]) as unknown,
      },
    });
    expect(readFileSync(join(project.folder, 'report.html'), 'utf8')).toContain(
      'ANALYTICS_API_KEY is not set',
    );
    expect(await night()).toBe(0);
    expect(await look()).toMatchObject({ refused: null, lastRun: { exitCode: 0 } });
    expect(readFileSync(join(project.stateDir, 'refused.json'), 'utf8').trim()).toBe(
      '{"version":1,"refused":null}',
    );
  });

  it('is reported for a config that is not YAML, and in the metrics of the next command', async () => {
    const { project, config, night, look } = createNights();
    await night();
    const good = readFileSync(config, 'utf8');
    writeFileSync(config, 'source: [\nstateDir: ./state\n');
    expect(await night()).toBe(2);
    writeFileSync(config, good);
    expect((await look()).refused).toMatchObject({
      times: 1,
      error: { code: 'config_invalid', exitCode: 2 },
    });
    const { facts } = await collectMetrics(
      createItemsFlow([], { folder: project.folder }).settings(),
      undefined,
      project.clock.now(),
    );
    expect(facts.lastRun).toMatchObject({ exitCode: 2, status: 'failed', startedAtMs: project.clock.now() });
  });

  it('is reported where the very first one was refused, and nothing is made where nobody knows the place', async () => {
    const { project, config, night, look, read } = createNights();
    expect(await night(NO_KEY)).toBe(2);
    const { summary } = await look();
    expect(await read()).toMatch(/The last sync was refused before it began,[^]*No sync is on record yet\./);
    expect(summary).toBe('nothing is published yet, the last sync was refused (exit code 2)');
    expect(statSync(project.stateDir).mode & 0o777).toBe(0o700);

    const other = createNights();
    writeFileSync(other.config, 'source: {}\n');
    expect(await other.night()).toBe(2);
    expect([existsSync(other.project.stateDir), existsSync(join(config, '..', '.sluice'))]).toEqual([
      false,
      false,
    ]);
  });

  it('calls one that a neighbour turned away by its name, and forgets it when the neighbour has synced', async () => {
    const { project, night, look, read } = createNights();
    await night();
    const since = new Date(project.clock.now()).toISOString();
    const lock = await lockStateFolder(project.stateDir, since, 'rebuild');
    try {
      expect(await night()).toBe(75);
    } finally {
      await lock.release();
    }
    const { summary, refused } = await look();
    expect(refused?.error.code).toBe('state_locked');
    expect(summary).toMatch(/, a sync was turned away$/);
    expect(await read()).toMatch(
      /^A sync was turned away .* UTC: another run held the state folder\.\n {2}next: once that/m,
    );
    expect(await night()).toBe(0);
    expect((await look()).refused).toBeNull();
  });

  it('keeps nothing of a stop, of a plan, and of a command line that somebody mistyped', async () => {
    const { night, look } = createNights();
    await night();
    const stopped = AbortSignal.abort(new Error('stopped'));
    await night({ signal: stopped, ...NO_KEY });
    await night(NO_KEY, ['--dry-run']);
    await night({ columns: 80 }, ['--streams', 'itmes']);
    expect((await look()).refused).toBeNull();
    expect(await night({}, ['--streams', 'itmes'])).toBe(2);
    expect(await night({ columns: 80 }, ['-c', 'sluce.yaml'])).toBe(2);
    expect(await night({}, ['--streams', 'items', '--metrics-file', '/nowhere/at/all.prom'])).toBe(2);
    expect((await look()).refused).toBeNull();
  });

  it('keeps the series of streams in the metrics file', async () => {
    const { project, config, night } = createNights();
    const file = join(project.stateDir, '..', 'sluice.prom');
    const rows = () => /^sluice_stream_rows\{.*$/m.exec(readFileSync(file, 'utf8'))?.[0];
    await night({}, ['--metrics-file', file]);
    const before = rows();
    expect(before).toBeDefined();
    writeFileSync(config, 'source: [');
    expect(await night({}, ['--metrics-file', file])).toBe(2);
    expect(rows()).toBe(before);
    expect(readFileSync(file, 'utf8')).toContain('\nsluice_last_run_exit_code 2\n');
  });

  it('keeps no secret', async () => {
    const { project, night } = createNights();
    await night();
    const engine = { runSync: () => Promise.reject(new Error(`no use for ${DEMO_KEY}`)) };
    expect(await night({ engine })).toBe(1);
    const kept = readFileSync(join(project.stateDir, 'refused.json'), 'utf8');
    expect(kept).toContain('unexpected: no use for ');
    expect(kept).not.toContain(DEMO_KEY);
  });
});

/** A small disk of its own kind; undefined where this user may not mount one. */
function mountDisk(): string | undefined {
  const folder = makeFolder();
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=48m', 'tmpfs', folder]).status !== 0) return undefined;
  onTestFinished(() => {
    spawnSync('umount', [folder]);
  });
  return folder;
}

describe('on a disk that is full', () => {
  it('a sync that was refused is reported all the same', async ({ skip }) => {
    const folder = mountDisk();
    if (folder === undefined) return skip();
    const { night, look } = createNights(folder);
    expect(await night()).toBe(0);
    const full = spawnSync('dd', ['if=/dev/zero', `of=${join(folder, 'filler')}`, 'bs=1M']);
    expect(String(full.stderr)).toContain('No space left');
    expect(() => writeFileSync(join(folder, 'more'), 'x')).toThrow(/ENOSPC/);
    expect(await night()).toBe(6);
    expect((await look()).refused).toMatchObject({ times: 1, error: { exitCode: 6 } });
    expect(await night()).toBe(6);
    expect((await look()).refused).toMatchObject({ times: 2 });
  });
});
