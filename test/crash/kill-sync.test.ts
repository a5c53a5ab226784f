import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectors } from '../../connectors/registry.ts';
import { parseConfig } from '../../src/config/load-config.ts';
import { resolveOfflineSettings } from '../../src/config/resolve-settings.ts';
import { readStatus } from '../../src/pipeline/status.ts';
import { sync } from '../../src/index.ts';
import { type SimulatorServer, startSimulatorServer } from '../../src/simulator/server.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { type PlainRow, queryCopy, sortRows } from '../support/published.ts';
import { startNode, waitForEnd } from '../support/run-node.ts';
import {
  buildConfig,
  countScanRequests,
  makeFolder,
  makeItems,
  noBuiltIns,
  unlimited,
} from '../support/sync-harness.ts';
import type { ChildPlan, KillPoint } from './sync-child.ts';

const ROWS = 200;
const PAGE = 40;
const CLEAN = countScanRequests(ROWS, PAGE);
const PAGES = CLEAN - 1;

const servers: SimulatorServer[] = [];
let expected: Awaited<ReturnType<typeof readPublished>>;

beforeAll(async () => {
  const project = await createProject();
  expect((await sync(project.config)).exitCode).toBe(0);
  expected = await readPublished(project.duckdb);
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.close()));
});

/** A project with a server of its own, so that several can be killed at once. */
async function createProject() {
  const simulator = createSimulator({
    builtIns: false,
    rateLimit: unlimited,
    endpoints: { items: { paginated: true, dateField: 'date', records: () => makeItems(ROWS) } },
  });
  const server = await startSimulatorServer(simulator);
  servers.push(server);
  const folder = makeFolder();
  const duckdb = join(folder, 'warehouse.duckdb');
  const stateDir = join(folder, 'state');
  const config = buildConfig(
    { duckdbPath: duckdb, stateDir, ledgerDir: join(folder, 'quota') },
    {
      source: { baseUrl: server.baseUrl },
      streams: { ...noBuiltIns, items: { path: 'items', paginated: true, pageSize: PAGE } },
    },
  );
  return { folder, duckdb, stateDir, config, simulator };
}

type Project = Awaited<ReturnType<typeof createProject>>;

/** What must be the same whatever happened on the way: rows, columns, contract and checkpoint. */
async function readPublished(duckdb: string) {
  const items = await queryCopy(duckdb, 'SELECT * FROM main.items');
  const contract = await queryCopy(
    duckdb,
    'SELECT path, column_name, type FROM _sluice.contracts ORDER BY ordinal',
  );
  const checkpoint = await queryCopy(
    duckdb,
    'SELECT * EXCLUDE (run_id, last_full_scan_at, last_verified_at) FROM _sluice.checkpoints',
  );
  const rows: readonly PlainRow[] = sortRows(items.rows);
  return { columns: items.columns, rows, contract: contract.rows, checkpoint: checkpoint.rows };
}

async function runKilled(project: Project, kill: KillPoint): Promise<void> {
  const plan: ChildPlan = { config: project.config, kill };
  const child = startNode(join(import.meta.dirname, 'sync-child.ts'), [JSON.stringify(plan)]);
  const end = await waitForEnd(child);
  expect(end, `killed at ${JSON.stringify(kill)}`).toMatchObject({ signal: 'SIGKILL', stderr: '' });
}

const rowCount = async (duckdb: string) => (await readPublished(duckdb)).rows.length;

describe.concurrent('a sync that is killed at a page', () => {
  it.each(Array.from({ length: PAGES }, (_, at) => at + 1))(
    'number %i loses nothing: the next run goes on after it',
    async (nth) => {
      const project = await createProject();
      await runKilled(project, { at: 'event', type: 'page-staged', nth });
      expect(existsSync(project.duckdb)).toBe(false);
      const report = await sync(project.config);
      expect(report.exitCode).toBe(0);
      expect(await readPublished(project.duckdb)).toEqual(expected);
      // One look at the head to go on; the pages that came are not asked for again, but those on their way are.
      expect(report.requests).toBeLessThanOrEqual(CLEAN - nth + 1);
      expect(project.simulator.arrivals.requests).toBeLessThanOrEqual(CLEAN + 1 + (PAGES - nth));
    },
  );

  it('comes to an end when every run is killed after a few pages', async () => {
    const project = await createProject();
    let kills = 0;
    for (; kills < PAGES + 2 && !existsSync(join(project.stateDir, 'published.json')); kills += 1) {
      const plan: ChildPlan = { config: project.config, kill: { at: 'event', type: 'page-staged', nth: 2 } };
      const end = await waitForEnd(
        startNode(join(import.meta.dirname, 'sync-child.ts'), [JSON.stringify(plan)]),
      );
      if (end.signal === null) break;
    }
    expect(kills).toBeGreaterThan(0);
    expect(kills).toBeLessThan(PAGES + 2);
    expect(await readPublished(project.duckdb)).toEqual(expected);
    expect(project.simulator.arrivals.requests).toBeLessThanOrEqual(CLEAN + kills * (1 + 16));
  });
});

describe.concurrent('a sync that is killed before its commit', () => {
  const points: Readonly<Record<string, KillPoint>> = {
    'when all pages are staged': { at: 'event', type: 'stream-loading', nth: 1 },
    'before the tables of the state exist': {
      at: 'sql',
      begins: 'CREATE TABLE _sluice',
      nth: 3,
      when: 'after',
    },
    'after its state is committed': { at: 'sql', begins: 'COMMIT', nth: 1, when: 'after' },
    'after the table is created': { at: 'sql', begins: 'CREATE TABLE main', nth: 1, when: 'after' },
    'after the rows are written': { at: 'sql', begins: 'INSERT INTO main', nth: 1, when: 'after' },
    'before the commit': { at: 'sql', begins: 'COMMIT', nth: 2, when: 'before' },
  };

  it.each(Object.entries(points))(
    '%s: the next run commits, with one request more at most',
    async (_, kill) => {
      const project = await createProject();
      await runKilled(project, kill);
      expect(existsSync(project.duckdb)).toBe(false);
      const report = await sync(project.config);
      expect(report.exitCode).toBe(0);
      expect(await readPublished(project.duckdb)).toEqual(expected);
      // Everything was staged, or nothing was asked yet: the head once or twice, or a whole scan.
      expect(project.simulator.arrivals.requests).toBeLessThanOrEqual(CLEAN + 2);
    },
  );
});

describe.concurrent('a sync that is killed after its commit', () => {
  const points: Readonly<Record<string, KillPoint>> = {
    'after the commit': { at: 'sql', begins: 'COMMIT', nth: 2, when: 'after' },
    'before the log is written into the file': { at: 'sql', begins: 'CHECKPOINT', nth: 1, when: 'before' },
    'after the log is written into the file': { at: 'sql', begins: 'CHECKPOINT', nth: 1, when: 'after' },
    'before the staged pages are dropped': {
      at: 'file',
      call: 'rm',
      ends: 'stage/items',
      nth: 2,
      when: 'before',
    },
    'when the stream is done': { at: 'event', type: 'stream-finished', nth: 1 },
    'after the run is recorded': { at: 'sql', begins: 'COMMIT', nth: 3, when: 'after' },
    'when it begins to publish': { at: 'event', type: 'publishing', nth: 1 },
    'after the file is copied': { at: 'file', call: 'copyFile', ends: 'work.duckdb', nth: 1, when: 'after' },
    'before the file is published': { at: 'file', call: 'rename', ends: '.tmp', nth: 1, when: 'before' },
    'after the file is published': { at: 'file', call: 'rename', ends: '.tmp', nth: 1, when: 'after' },
    'before that is noted': {
      at: 'file',
      call: 'renameSync',
      ends: 'published.json.tmp',
      nth: 1,
      when: 'before',
    },
    // The run file is written when the run begins, after each commit, and at the end.
    'before the run file has its end': {
      at: 'file',
      call: 'renameSync',
      ends: 'runs.json.tmp',
      nth: 3,
      when: 'before',
    },
    'at its very end': { at: 'event', type: 'run-finished', nth: 1 },
  };

  it.each(Object.entries(points))('%s: the next run publishes without a request', async (_, kill) => {
    const project = await createProject();
    await runKilled(project, kill);
    expect(project.simulator.arrivals.requests).toBe(CLEAN);
    const report = await sync(project.config);
    expect(report).toMatchObject({ exitCode: 0, requests: 0 });
    expect(report.streams[0]?.status).toBe('fresh');
    expect(await readPublished(project.duckdb)).toEqual(expected);
    // Nothing that a killed run left lies around.
    expect(readdirSync(project.folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('in its second sync: readers see the first one’s rows until the next run publishes', async () => {
    const project = await createProject();
    expect((await sync(project.config)).exitCode).toBe(0);
    for (const kill of [points['after the commit'], points['before the file is published']]) {
      if (kill === undefined) throw new Error('no such point');
      const held = await rowCount(project.duckdb);
      project.simulator.editRecords('items', (records) => [
        ...records,
        { ...makeItems(1, { from: 9_000 + held })[0] },
      ]);
      const plan: ChildPlan = { config: project.config, options: { force: true }, kill };
      const end = await waitForEnd(
        startNode(join(import.meta.dirname, 'sync-child.ts'), [JSON.stringify(plan)]),
      );
      expect(end.signal).toBe('SIGKILL');
      expect(await rowCount(project.duckdb)).toBe(held);
      expect((await sync(project.config)).requests).toBe(0);
      expect(await rowCount(project.duckdb)).toBe(held + 1);
    }
  });
});

describe('the record of a run that was killed', () => {
  it('says so at once, and keeps saying so in the published history', async () => {
    const project = await createProject();
    await runKilled(project, { at: 'event', type: 'page-staged', nth: 2 });
    const status = async () =>
      readStatus(
        resolveOfflineSettings({
          loaded: parseConfig(project.config),
          connectors,
          env: {},
          nowMs: Date.now(),
        }),
      );
    expect((await status()).lastRun).toMatchObject({ status: 'killed' });
    expect((await sync(project.config)).exitCode).toBe(0);
    expect((await status()).lastRun).toMatchObject({ status: 'complete' });
    const { rows } = await queryCopy(
      project.duckdb,
      'SELECT status, exit_code IS NULL AND finished_at IS NULL AS open FROM _sluice.runs ORDER BY started_at',
    );
    expect(rows).toEqual([
      { status: 'killed', open: true },
      { status: 'complete', open: false },
    ]);
  });
});

describe('pages that were committed and not dropped', () => {
  it('do not serve a later scan: what changed behind the head since then arrives', async () => {
    const project = await createProject();
    const stage = join(project.stateDir, 'stage');
    const kept = join(project.folder, 'kept-stage');
    await sync(project.config, {
      fullRefresh: true,
      onProgress: ({ type }) => {
        if (type === 'stream-loading') cpSync(stage, kept, { recursive: true });
      },
    });
    // The process died between the commit and the removal of its stage.
    cpSync(kept, stage, { recursive: true });
    expect(readFileSync(join(stage, 'items', 'pages.ndjson'), 'utf8')).not.toBe('');
    project.simulator.editRecords('items', (records) =>
      records.map((record, at) => (at === 150 ? { ...(record as object), name: 'restated' } : record)),
    );
    const report = await sync(project.config, { fullRefresh: true });
    expect(report.exitCode).toBe(0);
    const { rows } = await queryCopy(project.duckdb, `SELECT id FROM main.items WHERE name = 'restated'`);
    expect(rows).toEqual([{ id: 150 }]);
  });
});
