import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { hang } from '../../src/simulator/fault-effects.ts';
import { beforeRequest, when } from '../../src/simulator/faults.ts';
import { type ChildProject, type ChildProjectOptions, createChildProject } from '../support/cli-child.ts';
import { waitForEnd } from '../support/run-node.ts';
import { startReader } from '../support/start-reader.ts';
import {
  countScanRequests,
  createItemsFlow,
  makeFolder,
  makeItems,
  START_MS,
} from '../support/sync-harness.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

const projects: ChildProject[] = [];
afterEach(async () => {
  await Promise.all(projects.splice(0).map(({ server }) => server.close()));
});

async function createProject(options: Partial<ChildProjectOptions> = {}): Promise<ChildProject> {
  const project = await createChildProject({ records: makeItems(300), ...options });
  projects.push(project);
  return project;
}

interface Told {
  readonly exitCode: number;
  readonly error: { readonly code: string; readonly message: string; readonly hint: string } | null;
}

/** A sync that has sent all it sends at once after the first page, and gets no answer. */
async function startHanging(project: ChildProject) {
  const asked = new Promise<void>((resolve) => {
    project.simulator.setFaults([
      when({ nth: 2, count: Infinity }, hang()),
      beforeRequest(4, () => resolve()),
    ]);
  });
  const child = project.start(['sync', '--no-progress']);
  const end = waitForEnd(child);
  await asked;
  return { child, end };
}

describe('a second sync on one state folder', () => {
  it('ends with 75 before any request, and names pid, host and start of the first', async () => {
    const project = await createProject();
    const first = await startHanging(project);
    const holder = JSON.parse(readFileSync(join(project.stateDir, 'lock.json'), 'utf8')) as { since: string };
    const before = project.simulator.log.length;
    const second = await project.run(['sync', '--json']);
    expect(second.exitCode).toBe(75);
    const { error } = JSON.parse(second.stdout) as Told;
    expect(error).toMatchObject({ code: 'state_locked' });
    expect(error?.message).toContain(`pid ${first.child.pid ?? 0} on ${hostname()} since ${holder.since}`);
    expect(error?.hint).toMatch(/No request was spent/);
    expect(project.simulator.log.length).toBe(before);
    // Killed in whatever way, it holds nothing: the next one does not wait, nor does it ask anybody.
    first.child.kill('SIGKILL');
    await first.end;
    project.simulator.setFaults([]);
    expect(await project.run(['sync', '--no-progress'])).toMatchObject({ exitCode: 0 });
  });

  it('is not kept from the folder by what a file says of a process that lives, or of another host', async () => {
    const flow = createItemsFlow(makeItems(60));
    for (const [pid, host] of [
      [process.pid, hostname()],
      [1, hostname()],
      [4_321, 'another-host'],
    ] as const) {
      await flow.sync({ force: true });
      const holder = { pid, host, since: '2026-01-30T00:00:00.000Z', command: 'sync' };
      writeFileSync(join(flow.stateDir, 'lock.json'), JSON.stringify(holder));
      expect(await flow.sync({ force: true })).toMatchObject({ exitCode: 0 });
    }
  });
});

describe('syncs of two state folders with one key and one ledger', () => {
  it('stay within the hour together, and spend all of it', async () => {
    const ledgerDir = join(makeFolder(), 'quota');
    const requestsPerHour = 10;
    const records = makeItems(600);
    const first = await createProject({ records, ledgerDir, simulator: { rateLimit: { requestsPerHour } } });
    const second = await createProject({
      records,
      ledgerDir,
      config: { source: { baseUrl: first.server.baseUrl } },
    });
    const ends = await Promise.all(
      [first, second].map((project) => project.run(['sync', '--no-progress', '--max-wait', '0'])),
    );
    // One alone would be done within the hour; together they need more than it has.
    expect(countScanRequests(600)).toBeLessThan(requestsPerHour);
    const codes = ends.map(({ exitCode }) => exitCode);
    expect(codes).toContain(75);
    expect(codes.filter((code) => code !== 75 && code !== 0)).toEqual([]);
    expect(first.simulator.arrivals.requests).toBe(requestsPerHour);
    expect(first.simulator.arrivals.rateLimited).toBe(0);
    expect(second.simulator.arrivals.requests).toBe(0);
  });
});

describe('a work file that another program has open', () => {
  /** A clock at whose first wait something happens. */
  function clockThat(happens: () => Promise<void> | void): VirtualClock {
    const clock = createVirtualClock({ startMs: START_MS });
    let isFirst = true;
    return {
      ...clock,
      async sleep(ms, signal) {
        if (isFirst) await happens();
        isFirst = false;
        return clock.sleep(ms, signal);
      },
    };
  }

  it('is waited for, and nothing is asked meanwhile', async () => {
    const base = createItemsFlow(makeItems(60));
    await base.sync();
    const reader = await startReader(join(base.stateDir, 'work.duckdb'), 'READ_WRITE');
    let before = -1;
    const clock = clockThat(async () => {
      before = base.simulator.log.length;
      await reader.close();
    });
    const flow = createItemsFlow(makeItems(60), { folder: base.folder, clock });
    expect(await flow.sync({ force: true })).toMatchObject({ exitCode: 0 });
    expect(before).toBe(base.simulator.log.length);
  });

  it('is not waited for after a stop', async () => {
    const base = createItemsFlow(makeItems(60));
    await base.sync();
    const reader = await startReader(join(base.stateDir, 'work.duckdb'), 'READ_WRITE');
    try {
      const stop = new AbortController();
      const flow = createItemsFlow(makeItems(60), {
        folder: base.folder,
        clock: clockThat(() => stop.abort()),
      });
      await expect(flow.sync({ force: true, signal: stop.signal })).rejects.toMatchObject({ exitCode: 130 });
      expect(flow.clock.monotonic()).toBeLessThan(2_000);
    } finally {
      await reader.close();
    }
  });
});
