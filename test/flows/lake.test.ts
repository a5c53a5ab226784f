import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeRunFooter } from '../../src/render/describe-run.ts';
import { renderStatus } from '../../src/render/render-status.ts';
import { readStatus } from '../../src/commands/status.ts';
import { rawJson } from '../../src/simulator/raw-json.ts';
import { queryPublished } from '../../src/warehouse/query-published.ts';
import { unauthorized } from '../../src/simulator/fault-effects.ts';
import { when } from '../../src/simulator/faults.ts';
import { verifyState } from '../../src/commands/verify/verify.ts';
import { globOf, lakeTableOf, queryFiles, readLakeManifest } from '../support/read-lake.ts';
import {
  createItemsFlow,
  DAY_MS,
  eventsOf,
  type Flow,
  HOUR_MS,
  makeFolder,
  makeItem,
  makeItems,
  type RunOptions,
} from '../support/sync-harness.ts';

// Five days of ten items.
const ITEMS = makeItems(50, { perDay: 10 });
const stream = { key: ['id'], cursor: { field: 'date' } };
const both = { destination: { duckdb: './warehouse.duckdb', parquet: './lake' } };
const lakeOnly = { destination: { parquet: './lake' } };

function createLakeFlow(
  options: Parameters<typeof createItemsFlow>[1] = {},
  records: Parameters<typeof createItemsFlow>[0] = ITEMS,
) {
  const flow = createItemsFlow(records, { stream, config: both, ...options });
  return { flow, lake: join(flow.folder, 'lake') };
}

async function syncWell(flow: Flow, options: RunOptions = {}) {
  const report = await flow.sync({ force: true, ...options });
  expect(report.error).toBeUndefined();
  expect(report.exitCode).toBe(0);
  return report;
}

function listFiles(lake: string, table = 'items'): readonly string[] {
  const folder = join(lake, table, 'current');
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.parquet'))
    .toSorted();
}

const inodeOf = (lake: string, path: string) => statSync(join(lake, 'items', 'current', path)).ino;

describe('a lake', () => {
  it('has a folder a day, the rows of the table, and a manifest that says so', async () => {
    const { flow, lake } = createLakeFlow();
    const report = await syncWell(flow);
    expect(report.published).toMatchObject({
      path: flow.duckdbPath,
      lake: { path: lake, tables: 1, files: 5 },
    });
    expect(eventsOf(flow, 'published').map(({ path }) => path)).toEqual([lake, flow.duckdbPath]);
    expect(new Set(listFiles(lake).map((path) => path.split('/')[0]))).toEqual(
      new Set([
        'date=2026-01-01',
        'date=2026-01-02',
        'date=2026-01-03',
        'date=2026-01-04',
        'date=2026-01-05',
      ]),
    );
    const [sums] = await queryFiles(
      `SELECT count(*) AS n, sum(amount) AS amount, count(DISTINCT date) AS days, any_value(typeof(date)) AS type FROM ${globOf(lake)}`,
    );
    const amount = ITEMS.reduce((sum, item) => sum + item.amount, 0);
    expect(sums).toEqual({ n: '50', amount: String(amount), days: '5', type: 'DATE' });
    const table = lakeTableOf(lake);
    expect(table).toMatchObject({
      rows: 50,
      sortedBy: ['id', 'date'],
      checkpoints: [{ watermark: '2026-01-05', verdict: 'verified' }],
    });
    expect(table.files[0]).toMatchObject({ rows: 10, partition: ['2026-01-01'], range: { id: ['0', '9'] } });
    expect(table.columns.map(({ name, fieldId }) => [name, fieldId])).toEqual([
      ['id', 1],
      ['date', undefined],
      ['name', 2],
      ['amount', 3],
      ['_run_id', 4],
      ['_synced_at', 5],
    ]);
    const schema = await queryFiles(
      `SELECT name, field_id::INTEGER AS id FROM parquet_schema('${join(lake, 'items', 'current', listFiles(lake)[0] ?? '')}') WHERE field_id IS NOT NULL`,
    );
    expect(schema).toEqual([
      { name: 'id', id: 1 },
      { name: 'name', id: 2 },
      { name: 'amount', id: 3 },
      { name: '_run_id', id: 4 },
      { name: '_synced_at', id: 5 },
    ]);
  });

  it('rewrites the partitions that changed and shares the others', async () => {
    const { flow, lake } = createLakeFlow();
    await syncWell(flow);
    const before = new Map(listFiles(lake).map((path) => [path, inodeOf(lake, path)]));
    flow.simulator.editRecords('items', (records) =>
      records.map((record) =>
        (record as { id: number }).id === 25 ? { ...(record as object), amount: -1 } : record,
      ),
    );
    const report = await syncWell(flow, { fullRefresh: true });
    expect(report.published?.lake).toMatchObject({ tables: 1, files: 1 });
    const shared = listFiles(lake).filter((path) => before.get(path) === inodeOf(lake, path));
    expect(shared).toHaveLength(4);
    expect(shared.some((path) => path.startsWith('date=2026-01-03/'))).toBe(false);
    const rows = await queryFiles(`SELECT id, date::VARCHAR AS date FROM ${globOf(lake)} WHERE amount = -1`);
    expect(rows).toEqual([{ id: '25', date: '2026-01-03' }]);
    expect(await queryFiles(`SELECT count(*) AS n FROM ${globOf(lake)}`)).toEqual([{ n: '50' }]);
  });

  it('writes nothing where nothing changed', async () => {
    const { flow, lake } = createLakeFlow();
    await syncWell(flow);
    const before = readFileSync(join(lake, 'manifest.json'), 'utf8');
    const generation = readlinkSync(join(lake, 'items', 'current'));
    // A scan that finds nothing new commits its checkpoint: the manifest moves on, the files stay.
    const report = await syncWell(flow);
    expect(report.published?.lake).toMatchObject({ tables: 0, files: 0, bytes: 0 });
    expect(readlinkSync(join(lake, 'items', 'current'))).toBe(generation);
    expect(readFileSync(join(lake, 'manifest.json'), 'utf8')).not.toBe(before);
    const moved = readFileSync(join(lake, 'manifest.json'), 'utf8');
    const { mtimeMs } = statSync(join(lake, 'lake.duckdb'));
    expect(await flow.sync()).toMatchObject({ exitCode: 0, published: undefined });
    expect(readFileSync(join(lake, 'manifest.json'), 'utf8')).toBe(moved);
    expect(statSync(join(lake, 'lake.duckdb')).mtimeMs).toBe(mtimeMs);
  });

  it('shows new folders before they are filled, and waits between both', async () => {
    const { flow, lake } = createLakeFlow();
    await syncWell(flow);
    flow.simulator.editRecords('items', (records) => [...records, { ...makeItem(500), date: '2026-01-30' }]);
    const before = flow.clock.now();
    await syncWell(flow, { fullRefresh: true });
    expect(flow.clock.now() - before).toBeGreaterThanOrEqual(1_000);
    const generations = readdirSync(join(lake, '_generations', 'items'));
    const announced = generations.find((name) => name.endsWith('-folders')) ?? '';
    const folder = join(lake, '_generations', 'items', announced);
    const empty = readdirSync(join(folder, 'date=2026-01-30'));
    expect(empty).toHaveLength(1);
    expect(await queryFiles(`SELECT count(*) AS n FROM '${folder}/**/*.parquet'`)).toEqual([{ n: '50' }]);
    expect(await queryFiles(`SELECT count(*) AS n FROM ${globOf(lake)}`)).toEqual([{ n: '51' }]);
    expect(listFiles(lake)).not.toContain(`date=2026-01-30/${empty[0] ?? ''}`);
  });

  it('removes what is no longer current after the grace time, and keeps the generation before', async () => {
    const { flow, lake } = createLakeFlow();
    const edit = (amount: number) =>
      flow.simulator.editRecords('items', ([first, ...rest]) => [{ ...(first as object), amount }, ...rest]);
    await syncWell(flow);
    for (const amount of [-1, -2, -3]) {
      edit(amount);
      await syncWell(flow, { fullRefresh: true });
    }
    const count = () => readdirSync(join(lake, '_generations', 'items')).length;
    expect(count()).toBe(4);
    await flow.clock.sleep(2 * HOUR_MS);
    edit(-4);
    await syncWell(flow, { fullRefresh: true });
    // The current one, the one before it, and none of those that were retired two hours ago.
    expect(count()).toBe(2);
    expect(lakeTableOf(lake).retired).toHaveLength(1);
    // A pattern without `current` must not count rows twice.
    expect(readdirSync(join(lake, 'items'))).toEqual(['current']);
    const found = await queryFiles(`SELECT count(*) AS n FROM glob('${join(lake, 'items')}/**/*.parquet')`);
    expect(['0', String(listFiles(lake).length)]).toContain(found[0]?.['n']);
    const direct = await queryFiles(`SELECT count(*) AS n FROM '${join(lake, 'items')}/*/**/*.parquet'`);
    expect(direct).toEqual([{ n: '50' }]);
  });

  it('rewrites all files when the columns change, and gives no field id twice', async () => {
    const { flow, lake } = createLakeFlow();
    await syncWell(flow);
    flow.simulator.editRecords('items', ([first, ...rest]) => [
      { ...(first as object), note: 'new' },
      ...rest,
    ]);
    await syncWell(flow, { fullRefresh: true });
    expect(lakeTableOf(lake).columns.find(({ name }) => name === 'note')?.fieldId).toBe(6);
    const rows = await queryFiles(`SELECT count(*) AS n, count(note) AS notes FROM ${globOf(lake)}`);
    expect(rows).toEqual([{ n: '50', notes: '1' }]);
  });

  it('keeps folders that lost their rows out of the way', async () => {
    const { flow, lake } = createLakeFlow({ stream: { ...stream, deletes: 'hard', maxDeleteRatio: 1 } });
    await syncWell(flow);
    flow.simulator.editRecords('items', (records) =>
      records.filter((record) => (record as { date: string }).date !== '2026-01-02'),
    );
    await syncWell(flow, { fullRefresh: true });
    expect(listFiles(lake).some((path) => path.includes('2026-01-02'))).toBe(false);
    expect(await queryFiles(`SELECT count(*) AS n FROM ${globOf(lake)}`)).toEqual([{ n: '40' }]);
    flow.simulator.editRecords('items', () => []);
    await syncWell(flow, { fullRefresh: true, allowEmpty: true });
    expect(await queryFiles(`SELECT count(*) AS n FROM ${globOf(lake)}`)).toEqual([{ n: '0' }]);
  });
});

describe('folders of a lake', () => {
  const records = ['de', '00123', 'a/b=c', 'NULL', '__HIVE_DEFAULT_PARTITION__', 'ü %', '', null].map(
    (country, id) => ({ id, country, at: `2026-0${(id % 3) + 1}-15T23:30:00Z` }),
  );

  it('give back every value by the views, whatever it is', async () => {
    const { flow, lake } = createLakeFlow(
      { stream: { key: ['id'], partitionBy: ['country', 'month(at)'] } },
      records,
    );
    await syncWell(flow);
    const catalog = join(lake, 'lake.duckdb');
    const rows = await queryFiles('SELECT id::INTEGER AS id, country FROM items ORDER BY id', catalog);
    expect(rows).toEqual(records.map(({ id, country }) => ({ id, country })));
    expect(listFiles(lake).some((path) => path.startsWith('country=de/at_month=2026-01/'))).toBe(true);
  });

  it('give the newest day by the views, also of a table with one file', async () => {
    for (const days of [1, 2]) {
      const items = makeItems(10 * days, { perDay: 10 });
      const { flow } = createLakeFlow({ config: lakeOnly }, items);
      await syncWell(flow);
      const sql =
        'SELECT min(date)::VARCHAR AS first, max(date)::VARCHAR AS last, count(*) AS rows FROM items';
      const { rows } = await queryPublished(flow.settings().readersFile, sql);
      expect(rows).toEqual([['2026-01-01', `2026-01-0${days}`, String(10 * days)]]);
    }
  });

  it('are not read by the views where a filter does not ask for them', async () => {
    const { flow, lake } = createLakeFlow({ config: lakeOnly });
    await syncWell(flow);
    const sql = `EXPLAIN ANALYZE SELECT sum(amount) FROM items WHERE date >= '2026-01-04'`;
    const [plan] = await queryFiles(sql, join(lake, 'lake.duckdb'));
    expect(String(plan?.['explain_value'])).toContain('Scanning Files: 2/5');
  });

  it('are of a derived day for a time, which stays in the files', async () => {
    const { flow, lake } = createLakeFlow({ stream: { key: ['id'], cursor: { field: 'at' } } }, records);
    await syncWell(flow);
    expect(listFiles(lake)[0]).toMatch(/^at_date=2026-01-15\//);
    const rows = await queryFiles(
      `SELECT DISTINCT at_date::VARCHAR AS day, "at"::DATE::VARCHAR AS "at" FROM ${globOf(lake)} ORDER BY 1`,
    );
    expect(rows).toEqual(['2026-01-15', '2026-02-15', '2026-03-15'].map((day) => ({ day, at: day })));
  });

  it('are none where config says so, and follow a change of it', async () => {
    const { flow, lake } = createLakeFlow({ stream: { ...stream, partitionBy: [] } });
    await syncWell(flow);
    expect(listFiles(lake)).toHaveLength(1);
    await syncWell(flow, {
      config: {
        streams: { items: { path: 'items', paginated: true, ...stream, partitionBy: ['year(date)'] } },
      },
    });
    expect(listFiles(lake)[0]).toMatch(/^date_year=2026\//);
    expect(await queryFiles(`SELECT count(*) AS n FROM ${globOf(lake)}`)).toEqual([{ n: '50' }]);
  });

  it.each([
    ['nope', 'there is no column nope'],
    ['day(name)', 'needs a date'],
  ])('of %s are refused with 2, and the DuckDB file is published', async (rule, message) => {
    const { flow, lake } = createLakeFlow({ stream: { ...stream, partitionBy: [rule] } });
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 2, error: { code: 'config_invalid' } });
    expect(report.error?.message).toContain(message);
    expect(await flow.rows('items')).toHaveLength(50);
    expect(existsSync(join(lake, 'items'))).toBe(false);
  });
});

describe('types in a lake', () => {
  it('are exact by the views, and no integer is rounded', async () => {
    const huge = '170141183460469231731687303715884105727';
    const records = [
      `{"id":1,"big":9223372036854775807,"fits":99999999999999999999999999999999999999,"huge":${huge},"price":1.10,"tags":["a"],"seen":"2026-01-01T10:00:00+02:00","ok":true}`,
      `{"id":2,"big":1,"fits":-5,"huge":-5,"price":12345678901234567890.55,"tags":null,"seen":"2026-01-01T10:00:00Z","ok":null}`,
    ];
    const { flow, lake } = createLakeFlow({ stream: { key: ['id'] } }, records.map(rawJson));
    await syncWell(flow);
    const columns = ['id', 'big', 'fits', 'huge', 'price', 'tags', 'seen', 'ok'];
    const sql = `SELECT ${columns.flatMap((name) => [`${name}::VARCHAR AS ${name}`, `typeof(${name}) AS ${name}_type`]).join(', ')} FROM items ORDER BY id`;
    const views = await queryFiles(sql, join(lake, 'lake.duckdb'));
    const withoutNulls = views.map((row) =>
      Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)),
    );
    expect(withoutNulls).toEqual(await flow.query(sql));
    const [row] = await queryFiles(
      `SELECT fits::VARCHAR AS fits, typeof(fits) AS fits_type, huge, typeof(huge) AS huge_type FROM ${globOf(lake)} ORDER BY id LIMIT 1`,
    );
    expect(row).toEqual({ fits: '9'.repeat(38), fits_type: 'DECIMAL(38,0)', huge, huge_type: 'VARCHAR' });
  });
});

/** Status and verify say, each once, what the next sync begins with. */
async function expectToTellOfRestore(flow: Flow, source: string): Promise<void> {
  const status = await readStatus(flow.settings(), flow.clock.now());
  expect(status.restoresFrom).toBe(source);
  const told = renderStatus(status, { nowMs: flow.clock.now(), columns: undefined });
  expect(told.split(`the next sync restores it from ${source}`)).toHaveLength(2);
  const { items } = await verifyState(flow.settings(), { clock: flow.clock });
  const details = items.map(({ detail }) => detail).filter((detail) => detail.includes('restores the state'));
  expect(details).toEqual([
    expect.stringMatching(/^there is no .+work\.duckdb; the next sync restores the state from /),
  ]);
}

describe('a project with a lake alone', () => {
  it('is told, before the first sync, that nothing was synced yet', async () => {
    const { flow } = createLakeFlow({ config: lakeOnly });
    const expectToTell = async () => {
      const { items } = await verifyState(flow.settings(), { clock: flow.clock });
      expect(items.find(({ name }) => name === 'lake')).toMatchObject({
        status: 'failed',
        fix: expect.stringMatching(/^Nothing was synced with this config yet/) as string,
      });
    };
    await expectToTell();
    flow.simulator.setFaults([when({}, unauthorized())]);
    expect((await flow.sync()).exitCode).toBe(3);
    await expectToTell();
  });

  it('is asked and verified as one with a file', async () => {
    const { flow, lake } = createLakeFlow({ config: lakeOnly });
    const report = await syncWell(flow);
    const catalog = join(lake, 'lake.duckdb');
    expect(report.published).toMatchObject({ path: catalog, lake: { files: 5 } });
    expect(flow.isPublished()).toBe(false);
    expect((await queryPublished(catalog, 'SELECT count(*) FROM items')).rows).toEqual([['50']]);
    const write = queryPublished(catalog, `COPY (SELECT 1) TO '${join(lake, 'x.parquet')}'`);
    await expect(write).rejects.toMatchObject({ code: 'query_failed' });
    const outside = queryPublished(catalog, `SELECT * FROM read_text('/etc/hostname')`);
    await expect(outside).rejects.toMatchObject({ code: 'query_failed' });
    const nowhere = queryPublished(catalog, `FROM read_parquet('${join(lake, 'nope', '*.parquet')}')`);
    await expect(nowhere).rejects.toMatchObject({ code: 'query_failed', exitCode: 2 });
    expect(existsSync(join(lake, 'x.parquet'))).toBe(false);
    const verified = await verifyState(flow.settings(), { clock: flow.clock });
    expect(verified.items.filter(({ status }) => status !== 'ok')).toEqual([]);
    const found = verified.items.filter(({ name }) => name === 'lake').map(({ detail }) => detail);
    expect(found).toHaveLength(3);
    const tables = Number(/of (\d+) tables/.exec(found[1] ?? '')?.[1]);
    expect(found[2]).toMatch(
      new RegExp(`^the same commit as the work file, ${tables - 1} tables and .+ \\(_sluice\\.meta says`),
    );
  });

  it('continues incrementally in a container that finds nothing but the lake', async () => {
    const history = { ...stream, history: true, deletes: 'soft' as const };
    const { flow, lake } = createLakeFlow({ config: lakeOnly, stream: history });
    await syncWell(flow);
    await flow.clock.sleep(DAY_MS);
    flow.simulator.editRecords('items', ([first, ...rest]) => [
      { ...(first as object), amount: -1 },
      ...rest,
    ]);
    await syncWell(flow, { fullRefresh: true });
    const dump = async () => ({
      items: await queryFiles('SELECT * FROM items ORDER BY id', join(lake, 'lake.duckdb')),
      history: await queryFiles(
        'SELECT * FROM items_history ORDER BY id, _valid_from',
        join(lake, 'lake.duckdb'),
      ),
    });
    const before = await dump();
    expect(before.history).toHaveLength(51);
    rmSync(flow.stateDir, { recursive: true });
    await expectToTellOfRestore(flow, lake);
    const restored = await flow.sync({ strict: true });
    expect((await readStatus(flow.settings(), flow.clock.now())).restoresFrom).toBeUndefined();
    expect(restored).toMatchObject({ exitCode: 0, requests: 0, published: undefined, warnings: [] });
    expect(eventsOf(flow, 'note').map(({ message }) => message)).toEqual([
      expect.stringContaining(`there was no state in ${flow.stateDir}; the state is restored from ${lake}`),
    ]);
    flow.simulator.editRecords('items', (records) => [...records, { ...makeItem(700), date: '2026-01-05' }]);
    const report = await syncWell(flow);
    expect(report.streams[0]).toMatchObject({ mode: 'incremental', rows: { inserted: 1 } });
    expect(report.published?.lake).toMatchObject({ tables: 2, files: 2 });
    const after = await dump();
    expect(after.items.slice(0, 50)).toEqual(before.items);
    expect(after.history).toHaveLength(52);
  });

  it.skipIf(process.platform === 'win32')('keeps its permissions under another umask', async () => {
    const { flow, lake } = createLakeFlow({ config: lakeOnly });
    const umask = process.umask(0o022);
    try {
      await syncWell(flow);
      const listModes = () =>
        readdirSync(lake, { recursive: true, withFileTypes: true })
          .filter((entry) => !entry.isSymbolicLink())
          .map((entry) => statSync(join(entry.parentPath, entry.name)).mode & 0o777);
      expect(new Set(listModes())).toEqual(new Set([0o755, 0o644]));
      process.umask(0o077);
      flow.simulator.editRecords('items', (records) => [...records, ...makeItems(3, { from: 900 })]);
      await syncWell(flow);
      expect(new Set(listModes())).toEqual(new Set([0o755, 0o644]));
      // What a user lets nobody see stays so.
      chmodSync(join(lake, 'lake.duckdb'), 0o600);
      flow.simulator.editRecords('items', (records) => records.slice(1));
      await syncWell(flow);
      expect(statSync(join(lake, 'lake.duckdb')).mode & 0o777).toBe(0o600);
    } finally {
      process.umask(umask);
    }
  });

  it('without its file of state is refused with 6 before any request, as verify says', async () => {
    const { flow, lake } = createLakeFlow({ config: lakeOnly });
    await syncWell(flow);
    rmSync(flow.stateDir, { recursive: true });
    rmSync(join(lake, 'lake.duckdb'));
    const verified = await verifyState(flow.settings(), { clock: flow.clock });
    expect(verified.items.find(({ name, status }) => name === 'lake' && status === 'failed')?.fix).toMatch(
      /from a backup/,
    );
    expect(verified.items.find(({ name }) => name === 'work file')).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('cannot run without it: the lake') as string,
      fix: expect.stringContaining('from a backup') as string,
    });
    const asked = flow.simulator.log.length;
    const refused = {
      exitCode: 6,
      code: 'state_damaged',
      hint: expect.stringMatching(/from a backup/) as unknown,
    };
    await expect(flow.sync()).rejects.toMatchObject(refused);
    await expect(flow.sync()).rejects.toMatchObject(refused);
    expect(flow.simulator.log).toHaveLength(asked);
    renameSync(lake, join(flow.folder, 'away'));
    const report = await syncWell(flow);
    expect(report.streams[0]).toMatchObject({ mode: 'full', rows: { inserted: 50 } });
  });
});

describe('a lake that something happened to', () => {
  it('of another program is refused with 2 before any request', async () => {
    const { flow, lake } = createLakeFlow();
    mkdirSync(lake);
    writeFileSync(join(lake, 'thesis.txt'), 'mine');
    await expect(flow.sync()).rejects.toMatchObject({ exitCode: 2, code: 'publish_refused' });
    expect(flow.arrivals).toEqual([]);
    expect(readdirSync(lake)).toEqual(['thesis.txt']);
  });

  it('of another source is refused with 2', async () => {
    const folder = makeFolder();
    const { flow } = createLakeFlow({ folder });
    await syncWell(flow);
    const source = { baseUrl: 'http://127.0.0.1:9/api/v2' };
    rmSync(flow.stateDir, { recursive: true });
    rmSync(flow.duckdbPath);
    const other = flow.sync({ config: { source } });
    await expect(other).rejects.toMatchObject({ exitCode: 2, code: 'identity_mismatch' });
  });

  it('and whose links became folders says of all how to fix them, and that fixes them', async () => {
    const { flow, lake } = createLakeFlow({ stream: { ...stream, history: true } });
    await syncWell(flow);
    const links = ['items', 'items_history'].map((table) => join(lake, table, 'current'));
    for (const link of links) {
      rmSync(link);
      mkdirSync(link);
    }
    const detail = `${links.join(', ')} are not links and must be`;
    const verified = await verifyState(flow.settings(), { clock: flow.clock });
    const failed = verified.items.filter(({ status }) => status === 'failed');
    expect(failed).toMatchObject([
      { name: 'lake', detail, fix: expect.stringMatching(/^Move them away/) as unknown },
    ]);
    const hint = `${failed[0]?.fix ?? ''} Nothing was requested.`;
    const refused = { exitCode: 2, code: 'publish_refused', message: detail, hint };
    await expect(flow.sync({ force: true })).rejects.toMatchObject(refused);
    for (const link of links) rmSync(link, { recursive: true });
    const repaired = await flow.sync();
    expect(repaired).toMatchObject({ exitCode: 0, requests: 0, published: { lake: { files: 0 } } });
    expect(describeRunFooter(repaired, flow.clock.now())).toContain('2 tables changed, without a new file');
    expect(await queryFiles(`SELECT count(*) AS n FROM ${globOf(lake)}`)).toEqual([{ n: '50' }]);
    expect((await verifyState(flow.settings(), { clock: flow.clock })).ok).toBe(true);
  });

  it('would hold a stream by the name of its own folder: refused with 2 before any request', async () => {
    const streams = { items: { enabled: false }, _generations: { path: 'items', paginated: true } };
    const { flow } = createLakeFlow({ config: { ...both, streams } });
    await expect(flow.sync()).rejects.toMatchObject({ exitCode: 2, code: 'config_invalid' });
    expect(flow.arrivals).toEqual([]);
  });

  it('and lost a file is reported by verify and fixed by the next sync', async () => {
    const { flow, lake } = createLakeFlow();
    await syncWell(flow);
    const [path = ''] = listFiles(lake);
    rmSync(join(lake, 'items', 'current', path));
    const verified = await verifyState(flow.settings(), { clock: flow.clock });
    expect(verified).toMatchObject({ exitCode: 6 });
    expect(verified.items.find(({ status }) => status === 'failed')?.detail).toContain(path);
    const report = await syncWell(flow);
    expect(report.published?.lake).toMatchObject({ tables: 1, files: 1 });
    expect(await queryFiles(`SELECT count(*) AS n FROM ${globOf(lake)}`)).toEqual([{ n: '50' }]);
  });

  it('and whose publish a signal ended is as it was, and whole after the next run', async () => {
    const { flow, lake } = createLakeFlow();
    await syncWell(flow);
    flow.simulator.editRecords('items', (records) => [...records, { ...makeItem(500), date: '2026-01-30' }]);
    const stop = new AbortController();
    const report = await flow.sync({
      force: true,
      fullRefresh: true,
      signal: stop.signal,
      onProgress: ({ type }) => {
        if (type === 'publishing') stop.abort();
      },
    });
    expect(report).toMatchObject({ exitCode: 130, published: undefined });
    expect(await queryFiles(`SELECT count(*) AS n FROM ${globOf(lake)}`)).toEqual([{ n: '50' }]);
    await syncWell(flow);
    expect(await queryFiles(`SELECT count(*) AS n FROM ${globOf(lake)}`)).toEqual([{ n: '51' }]);
  });

  it('cannot be written: the file is published, and the run says 6', async () => {
    const { flow, lake } = createLakeFlow();
    await syncWell(flow);
    flow.simulator.editRecords('items', (records) => [...records, makeItem(900)]);
    const report = await flow.sync({
      force: true,
      fullRefresh: true,
      onProgress: (event) => {
        if (event.type !== 'publishing' || event.path !== lake) return;
        // A file in the way of the table's folder, as root knows no permissions.
        rmSync(join(lake, '_generations', 'items'), { recursive: true });
        writeFileSync(join(lake, '_generations', 'items'), '');
      },
    });
    expect(report).toMatchObject({ exitCode: 6, published: { path: flow.duckdbPath } });
    expect(report.published).not.toHaveProperty('lake');
    expect(describeRunFooter(report, flow.clock.now())).toContain(`Published ${flow.duckdbPath}`);
    expect(await flow.rows('items')).toHaveLength(51);
    rmSync(join(lake, '_generations', 'items'));
    await syncWell(flow);
    expect(await queryFiles(`SELECT count(*) AS n FROM ${globOf(lake)}`)).toEqual([{ n: '51' }]);
    expect(readLakeManifest(lake).tables).toHaveLength(1);
  });

  it('is reported as published where the file cannot be', async () => {
    const { flow, lake } = createLakeFlow();
    const report = await flow.sync({
      onProgress: (event) => {
        // A folder in the way.
        if (event.type === 'publishing' && event.path === flow.duckdbPath) mkdirSync(flow.duckdbPath);
      },
    });
    expect(report).toMatchObject({ exitCode: 6, published: { path: lake, lake: { files: 5 } } });
    expect(await queryFiles(`SELECT count(*) AS n FROM ${globOf(lake)}`)).toEqual([{ n: '50' }]);
  });

  it('and the file next to it are both reported when both fail, and both published by the next run', async () => {
    const { flow, lake } = createLakeFlow();
    await syncWell(flow);
    flow.simulator.editRecords('items', (records) => [...records, makeItem(900)]);
    const report = await flow.sync({
      force: true,
      fullRefresh: true,
      onProgress: (event) => {
        if (event.type !== 'publishing') return;
        if (event.path === lake) {
          rmSync(join(lake, '_generations', 'items'), { recursive: true });
          writeFileSync(join(lake, '_generations', 'items'), '');
        } else {
          rmSync(flow.duckdbPath);
          mkdirSync(flow.duckdbPath);
        }
      },
    });
    expect(report).toMatchObject({ exitCode: 6, published: undefined, error: { code: 'publish_failed' } });
    for (const path of [lake, flow.duckdbPath])
      expect(report.error?.message).toContain(`cannot publish ${path === lake ? 'the lake ' : ''}${path}: `);
    rmSync(join(lake, '_generations', 'items'));
    rmSync(flow.duckdbPath, { recursive: true });
    await syncWell(flow);
    expect(await flow.rows('items')).toHaveLength(51);
    expect(await queryFiles(`SELECT count(*) AS n FROM ${globOf(lake)}`)).toEqual([{ n: '51' }]);
  });
});
