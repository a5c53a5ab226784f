import { copyFileSync, cpSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { destinationLockFile } from '../../state/destination-lock.ts';
import type { SyncError } from '../../src/model/errors.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { globOf, queryFiles } from '../support/read-lake.ts';
import { createSimulatorTransport } from '../support/simulator-transport.ts';
import {
  createFlow,
  DAY_MS,
  type Flow,
  makeFolder,
  makeItems,
  noBuiltIns,
  START_MS,
  streamOf,
} from '../support/sync-harness.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

/** What the requests of the first project wait for. */
let held: () => Promise<unknown> | undefined = () => undefined;
afterEach(() => void (held = () => undefined));

/** Two projects that publish to one place, each with a stream and a state folder of its own. */
function createPair(destination?: { readonly parquet: string }) {
  const folder = makeFolder();
  const records = makeItems(30);
  const endpoint = { paginated: true, records: () => records } as const;
  const create = (stream: string, stateDir: string) => {
    const simulator = createSimulator({ builtIns: false, endpoints: { [stream]: endpoint } });
    const clock = createVirtualClock({ startMs: START_MS });
    const transport = createSimulatorTransport(simulator, clock);
    return createFlow({
      folder,
      stateDir: join(folder, stateDir),
      simulator,
      clock,
      transport: {
        ...transport,
        send: async (request) => {
          if (stream === 'one') await held();
          return transport.send(request);
        },
      },
      config: {
        streams: { ...noBuiltIns, [stream]: { path: stream, paginated: true } },
        ...(destination && { destination: { parquet: join(folder, destination.parquet) } }),
      },
    });
  };
  return { folder, one: create('one', 'state-1'), other: create('other', 'state-2') };
}

describe.each([undefined, { parquet: 'lake' }])('two state folders with one destination (%o)', (to) => {
  it('continue from what the other published, and lose no table', async () => {
    const { folder, one, other } = createPair(to);
    for (const flow of [one, other, one, other]) {
      expect((await flow.sync({ force: true })).exitCode).toBe(0);
      await one.clock.sleep(DAY_MS);
      await other.clock.sleep(DAY_MS);
    }
    await one.sync({ force: true });
    const report = await one.sync();
    expect(report).toMatchObject({ exitCode: 0, requests: 0, warnings: [] });
    if (to !== undefined) {
      const files = ['one', 'other'].map((table) => globOf(join(folder, to.parquet), table));
      for (const file of files) expect(await queryFiles(`SELECT id FROM ${file}`)).toHaveLength(30);
    } else {
      expect(await one.rows('other')).toHaveLength(30);
      expect(await one.query('SELECT count(*) AS n FROM _sluice.runs')).toEqual([{ n: 5 }]);
    }
  });

  it('that both committed something of their own end with 2 before a request, whatever the runs are called', async () => {
    const { folder, one } = createPair(to);
    const published = join(folder, to?.parquet ?? 'warehouse.duckdb');
    await one.sync({ runId: 'first' });
    cpSync(one.stateDir, join(folder, 'fork'), { recursive: true });
    cpSync(published, join(folder, 'before'), { recursive: true, verbatimSymlinks: true });
    await one.clock.sleep(DAY_MS);
    await one.sync({ runId: 'daily', force: true });
    renameSync(published, join(folder, 'theirs'));
    renameSync(join(folder, 'before'), published);
    renameSync(one.stateDir, join(folder, 'away'));
    renameSync(join(folder, 'fork'), one.stateDir);
    await one.clock.sleep(DAY_MS);
    await one.sync({ runId: 'daily', force: true });
    rmSync(published, { recursive: true });
    renameSync(join(folder, 'theirs'), published);
    await expect(one.sync({ force: true })).rejects.toMatchObject({
      exitCode: 2,
      code: 'publish_refused',
      hint: expect.stringMatching(/move .*state-1 away/) as unknown,
    });
    expect(one.arrivals).toEqual([]);
    // As it says.
    rmSync(one.stateDir, { recursive: true });
    expect((await one.sync()).exitCode).toBe(0);
  });

  it('cannot run at once: the second ends with 75 before a request', async () => {
    const { one, other } = createPair(to);
    let second: Promise<unknown> | undefined;
    await one.sync({
      onProgress: ({ type }) => void (type === 'run-started' && (second = failureOf(other))),
    });
    expect(await second).toMatchObject({ exitCode: 75, code: 'state_locked' });
    expect(other.arrivals).toEqual([]);
    expect((await other.sync()).exitCode).toBe(0);
  });

  it('are distinguished right before the rename where the lock did not hold', async () => {
    const { folder, one, other } = createPair(to);
    let second: Promise<unknown> | undefined;
    held = () => second;
    const report = await one.sync({
      onProgress: ({ type }) => {
        if (type !== 'run-started') return;
        rmSync(destinationLockFile(join(folder, to?.parquet ?? 'warehouse.duckdb')));
        second = other.sync();
      },
    });
    expect(await second).toMatchObject({ exitCode: 0 });
    expect(report).toMatchObject({ exitCode: 2, error: { code: 'publish_refused' } });
    expect((await other.sync()).requests).toBe(0);
  });
});

async function failureOf(flow: Flow): Promise<unknown> {
  return flow.sync().catch((thrown: unknown) => thrown);
}

describe('a lake of another state folder that has lost its lake.duckdb', () => {
  it('says what the state can be restored from, which is not the lake alone', async () => {
    const { folder, one, other } = createPair({ parquet: 'lake' });
    expect((await one.sync()).exitCode).toBe(0);
    expect((await other.sync()).exitCode).toBe(0);
    await one.clock.sleep(DAY_MS);
    const catalog = join(folder, 'lake', 'lake.duckdb');
    renameSync(catalog, join(folder, 'backup'));
    const error = await one.sync().catch((thrown: unknown) => thrown as SyncError);
    expect(error).toMatchObject({ exitCode: 2, code: 'publish_refused' });
    expect((error as SyncError).hint).toMatch(
      /restore lake\.duckdb of .+ from a backup and move .*state-1 away/,
    );
    // As it says.
    renameSync(join(folder, 'backup'), catalog);
    rmSync(one.stateDir, { recursive: true });
    expect((await one.sync()).exitCode).toBe(0);
  });
});

describe('a published file of the same state', () => {
  it('may be a copy of itself, or an older one', async () => {
    const { folder, one } = createPair();
    await one.sync();
    const backup = join(folder, 'backup');
    copyFileSync(one.duckdbPath, backup);
    await one.clock.sleep(DAY_MS);
    expect((await one.sync({ force: true })).exitCode).toBe(0);
    renameSync(backup, one.duckdbPath);
    await one.clock.sleep(DAY_MS);
    expect(streamOf(await one.sync({ force: true }), 'one')).toMatchObject({ status: 'complete' });
    expect(await one.query('SELECT count(*) AS n FROM _sluice.runs')).toEqual([{ n: 3 }]);
  });
});
