import { describe, expect, it } from 'vitest';
import { rawJson } from '../../src/simulator/raw-json.ts';
import {
  createItemsFlow,
  DAY_MS,
  type Flow,
  type FlowConfig,
  HOUR_MS,
  makeItems,
  noBuiltIns,
  streamOf,
} from '../support/sync-harness.ts';

type StreamInput = NonNullable<FlowConfig['streams']>[string];

const full: StreamInput = { cursor: false, key: ['id'], history: true };
const one = (id: number, score: unknown, more: object = {}) => ({ id, name: `item ${id}`, score, ...more });

/** Serves these records from the next day on, and syncs them. */
async function resync(flow: Flow, records: readonly unknown[], stream?: StreamInput) {
  flow.simulator.editRecords('items', () => records);
  await flow.clock.sleep(DAY_MS);
  const items = { path: 'items', paginated: true, ...stream };
  const report = await flow.sync(
    stream === undefined ? {} : { config: { streams: { ...noBuiltIns, items } } },
  );
  expect(report.exitCode, streamOf(report).error?.message).toBe(0);
  return report;
}

/** The versions as `id score from-to`, by the days of January and February 2026. */
async function versionsOf(flow: Flow, column = 'score'): Promise<readonly string[]> {
  const day = (time: string) => `coalesce(strftime(${time}, '%m-%d'), 'now')`;
  const rows = await flow.query(
    `SELECT id || ' ' || coalesce(${column}::VARCHAR, 'null') || ' ' || ${day('_valid_from')} || ' to ' || ${day('_valid_to')} AS version
     FROM main.items_history ORDER BY id, _valid_from, _valid_to NULLS LAST`,
  );
  return rows.map(({ version }) => String(version));
}

/** Open versions without a live row, or the reverse. */
async function countStrays(flow: Flow): Promise<number> {
  const { columns } = await flow.table('items');
  const live = columns['_deleted_at'] === undefined ? 'true' : '_deleted_at IS NULL';
  const marks = ['_synced_at', ...(columns['_deleted_at'] === undefined ? [] : ['_deleted_at'])];
  const names = Object.keys(columns)
    .filter((name) => !marks.includes(name))
    .map((name) => `"${name}"`)
    .join(', ');
  const rows = `SELECT ${names}, _synced_at AS at FROM main.items WHERE ${live}`;
  const open = `SELECT ${names}, _valid_from AS at FROM main.items_history WHERE _valid_to IS NULL`;
  const [row] = await flow.query(
    `SELECT (SELECT count(*) FROM (${rows} EXCEPT ALL ${open})) + (SELECT count(*) FROM (${open} EXCEPT ALL ${rows})) AS n`,
  );
  return Number(row?.['n']);
}

describe('history', () => {
  it('has a row for each version of a row, and says how a table was at any time', async () => {
    const flow = createItemsFlow([one(1, 10), one(2, 20), one(3, 30)], {
      stream: { ...full, deletes: 'hard', maxDeleteRatio: 1 },
    });
    await flow.sync();
    const second = await resync(flow, [one(1, 10), one(2, 21), one(4, 40)]);
    await resync(flow, [one(1, 11), one(2, 21), one(3, 30), one(4, 40)]);
    const unchanged = await resync(flow, [one(1, 11), one(2, 21), one(3, 30), one(4, 40)]);
    expect(unchanged.rows).toMatchObject({ unchanged: 4, inserted: 0 });
    expect(await versionsOf(flow)).toEqual([
      '1 10 01-31 to 02-02',
      '1 11 02-02 to now',
      '2 20 01-31 to 02-01',
      '2 21 02-01 to now',
      '3 30 01-31 to 02-01',
      '3 30 02-02 to now',
      '4 40 02-01 to now',
    ]);
    expect(await countStrays(flow)).toBe(0);
    const asOf = `SELECT id, score FROM main.items_history
      WHERE _valid_from <= TIMESTAMPTZ '2026-02-01 18:00:00+00' AND (_valid_to > TIMESTAMPTZ '2026-02-01 18:00:00+00' OR _valid_to IS NULL) ORDER BY id`;
    expect(await flow.query(asOf)).toEqual([
      { id: 1, score: 10 },
      { id: 2, score: 21 },
      { id: 4, score: 40 },
    ]);
    expect(await flow.query('SELECT _run_id AS run FROM main.items_history WHERE id = 4')).toEqual([
      { run: second.runId },
    ]);
    expect(Object.keys((await flow.table('items_history')).columns)).toEqual([
      ...['id', 'name', 'score'],
      ...['_run_id', '_valid_from', '_valid_to'],
    ]);
  });

  it('closes the versions of rows that are marked, and opens one when a row comes back', async () => {
    const flow = createItemsFlow([one(1, 10), one(2, 20)], {
      stream: { ...full, deletes: 'soft', maxDeleteRatio: 1 },
    });
    await flow.sync();
    await resync(flow, [one(1, 10)]);
    await resync(flow, [one(1, 10), one(2, 20)]);
    expect(await versionsOf(flow)).toEqual(['1 10 01-31 to now', '2 20 01-31 to 02-01', '2 20 02-02 to now']);
    expect(await countStrays(flow)).toBe(0);
  });

  it('follows new columns and wider types, those of earlier versions included', async () => {
    const flow = createItemsFlow([one(1, 10), one(2, 20)], { stream: full });
    await flow.sync();
    await resync(flow, [one(1, 10.5), one(2, 20, { label: 'b' })]);
    expect((await flow.table('items_history')).columns).toMatchObject({ score: 'DOUBLE', label: 'VARCHAR' });
    expect(await versionsOf(flow)).toEqual([
      '1 10.0 01-31 to 02-01',
      '1 10.5 02-01 to now',
      '2 20.0 01-31 to 02-01',
      '2 20.0 02-01 to now',
    ]);
    expect(await countStrays(flow)).toBe(0);
  });

  it('keeps a column from widening where only an earlier version would lose by it', async () => {
    const flow = createItemsFlow([one(1, rawJson('9007199254740993'))], { stream: full });
    await flow.sync();
    await resync(flow, [one(1, 5)]);
    await resync(flow, [one(1, 0.5)]);
    // A double cannot hold the first value: the fraction goes into the companion.
    expect((await flow.table('items')).columns).toMatchObject({ score: 'BIGINT', score__text: 'VARCHAR' });
    expect(await versionsOf(flow)).toEqual([
      '1 9007199254740993 01-31 to 02-01',
      '1 5 02-01 to 02-02',
      '1 null 02-02 to now',
    ]);
    expect(await versionsOf(flow, 'score__text')).toContain('1 0.5 02-02 to now');
    expect(await countStrays(flow)).toBe(0);
  });

  it('begins, in a table that has rows, with a version of each since it was written', async () => {
    const off = { ...full, history: false };
    const flow = createItemsFlow([one(1, 10), one(2, 20)], { stream: off });
    await flow.sync();
    await resync(flow, [one(1, 11), one(2, 20)]);
    expect(
      (await flow.query(`SELECT count(*) AS n FROM duckdb_tables() WHERE table_name = 'items_history'`))[0],
    ).toEqual({ n: 0 });
    await resync(flow, [one(1, 12), one(2, 20)], full);
    expect(await versionsOf(flow)).toEqual(['1 11 02-01 to 02-02', '1 12 02-02 to now', '2 20 01-31 to now']);
    expect(await countStrays(flow)).toBe(0);
  });

  it('stays as it is while it is switched off, and catches up when it is on again', async () => {
    const off = { ...full, history: false };
    const flow = createItemsFlow([one(1, 10), one(2, 20), one(3, 30)], {
      stream: { ...full, deletes: 'hard', maxDeleteRatio: 1 },
    });
    await flow.sync();
    await resync(flow, [one(1, 11), one(2, 20), one(3, 30, { label: 'c' })], off);
    expect(await versionsOf(flow)).toEqual(['1 10 01-31 to now', '2 20 01-31 to now', '3 30 01-31 to now']);
    await resync(flow, [one(1, 12), one(2, 20), one(3, 30, { label: 'c' })], off);
    await resync(flow, [one(1, 12), one(2, 22), one(3, 30, { label: 'c' })], full);
    expect(await versionsOf(flow)).toEqual([
      // What changed meanwhile ended at the first change that is known of.
      '1 10 01-31 to 02-01',
      '1 12 02-02 to now',
      '2 20 01-31 to 02-03',
      '2 22 02-03 to now',
      '3 30 01-31 to 02-01',
      '3 30 02-01 to now',
    ]);
    expect(await countStrays(flow)).toBe(0);
  });

  it('is exact for streams without a key as well: a changed row is one that left and one that came', async () => {
    const rows = (...words: readonly string[]) => words.map((word) => ({ word }));
    const flow = createItemsFlow(rows('a', 'a', 'b'), { stream: { cursor: false, history: true } });
    expect(streamOf(await flow.sync()).key).toBeUndefined();
    await resync(flow, rows('a', 'b', 'c'));
    await resync(flow, rows('a', 'a', 'c'));
    const read = `SELECT word, strftime(_valid_from, '%m-%d') AS since, strftime(_valid_to, '%m-%d') AS until
      FROM main.items_history ORDER BY ALL`;
    expect(await flow.query(read)).toEqual([
      { word: 'a', since: '01-31', until: '02-01' },
      { word: 'a', since: '01-31' },
      { word: 'a', since: '02-02' },
      { word: 'b', since: '01-31', until: '02-02' },
      { word: 'c', since: '02-01' },
    ]);
    expect(await countStrays(flow)).toBe(0);
  });

  it('survives a key that is replaced by another', async () => {
    const items = makeItems(40).map((item) => ({ ...item, version: item.id % 2 }));
    const stream = { ...full, key: ['id', 'version'] };
    const flow = createItemsFlow(items, { stream });
    await flow.sync();
    const later = items.map((item) => ({ ...item, version: 7 }));
    await resync(flow, later);
    await resync(flow, later, full);
    expect(await flow.rows('items')).toHaveLength(40);
    expect(await countStrays(flow)).toBe(0);
    expect(await flow.query('SELECT count(*) AS n FROM main.items_history')).toEqual([{ n: 80 }]);
  });

  it('writes nothing for a scan that failed', async () => {
    const flow = createItemsFlow([one(1, 10), one(2, 20), one(3, 30)], {
      stream: { ...full, deletes: 'hard' },
    });
    await flow.sync();
    flow.simulator.editRecords('items', () => [one(1, 11)]);
    expect((await flow.sync({ force: true })).exitCode).toBe(4);
    expect(await versionsOf(flow)).toEqual(['1 10 01-31 to now', '2 20 01-31 to now', '3 30 01-31 to now']);
  });

  it('forgets closed versions after retention.history, and open ones never', async () => {
    const flow = createItemsFlow([one(1, 10), one(2, 20)], {
      stream: full,
      config: { retention: { history: '2d' } },
    });
    await flow.sync();
    await resync(flow, [one(1, 11), one(2, 20)]);
    await resync(flow, [one(1, 12), one(2, 20)]);
    expect(await versionsOf(flow)).toContain('1 10 01-31 to 02-01');
    await flow.clock.sleep(HOUR_MS);
    await resync(flow, [one(1, 12), one(2, 20)]);
    expect(await versionsOf(flow)).toEqual(['1 11 02-01 to 02-02', '1 12 02-02 to now', '2 20 01-31 to now']);
  });

  it('of a wide table are published, however many blocks of columns that takes', async () => {
    const makeWide = (value: number) =>
      Array.from({ length: 10 }, (_, id) => ({
        id,
        ...Object.fromEntries(Array.from({ length: 150 }, (_, at) => [`field${at}`, value + at])),
      }));
    const flow = createItemsFlow(makeWide(0), { stream: { ...full, cursor: false } });
    for (const value of [0, 1, 2]) {
      flow.simulator.editRecords('items', () => makeWide(value));
      expect(await flow.sync({ force: true, fullRefresh: true })).toMatchObject({ exitCode: 0 });
      await flow.clock.sleep(HOUR_MS);
    }
    const versions = 'SELECT count(*)::INT AS n, max(field149)::INT AS newest FROM items_history';
    expect(await flow.query(versions)).toEqual([{ n: 30, newest: 151 }]);
  });

  it('of a table that another stream was given the name of is refused', async () => {
    const streams = (name: string): FlowConfig => ({
      streams: {
        ...noBuiltIns,
        items: { path: 'items', paginated: true, ...full },
        [name]: { path: 'items', paginated: true },
      },
    });
    const flow = createItemsFlow([one(1, 10)], { config: streams('others') });
    await expect(flow.sync({ config: streams('items_history') })).rejects.toThrow(
      /streams\.items_history.*is the table of the versions of items/,
    );
    await flow.sync();
    const { items: _items, ...without } = streams('items_history').streams ?? {};
    const other = createItemsFlow([one(1, 10)], {
      folder: flow.folder,
      clock: flow.clock,
      config: { streams: { ...without, items: { enabled: false, path: 'items' } } },
    });
    const report = await other.sync();
    expect(streamOf(report, 'items_history').error).toMatchObject({ code: 'config_invalid', exitCode: 2 });
    expect(await versionsOf(flow)).toEqual(['1 10 01-31 to now']);
  });
});
