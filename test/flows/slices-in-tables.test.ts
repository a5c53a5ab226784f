import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, it } from 'vitest';
import { verifyState } from '../../src/commands/verify/verify.ts';
import type { RunReport, StreamReport } from '../../src/model/run-report.ts';
import {
  createItemsFlow,
  type Flow,
  type FlowConfig,
  HOUR_MS,
  type ItemsOptions,
  noBuiltIns,
} from '../support/sync-harness.ts';

type StreamInput = NonNullable<FlowConfig['streams']>[string];

/** Ten rows of one entity; their ids are the same in every entity. */
const rowsOf = (entity: string, count = 10, score = 1) =>
  Array.from({ length: count }, (_, id) => ({ id, entity, score }));

const whole: StreamInput = { cursor: false, key: ['id', 'entity'] };
const sliced = (entities: readonly string[], more: StreamInput = {}): StreamInput => ({
  cursor: false,
  key: ['id'],
  params: { entity: [...entities] },
  sliceBy: ['entity'],
  ...more,
});

function createSlicedFlow(
  stream: StreamInput,
  records: readonly unknown[],
  options: ItemsOptions = {},
): Flow {
  return createItemsFlow(records, {
    ...options,
    endpoint: { filters: { entity: ['entity'] }, ...options.endpoint },
    stream,
  });
}

const configOf = (stream: StreamInput) => ({
  config: { streams: { ...noBuiltIns, items: { path: 'items', paginated: true, ...stream } } },
});

async function resync(flow: Flow, records: readonly unknown[], stream?: StreamInput) {
  flow.simulator.editRecords('items', () => records);
  await flow.clock.sleep(2 * HOUR_MS);
  return flow.sync(stream === undefined ? {} : configOf(stream));
}

function sliceOf(report: RunReport, slice: string): StreamReport {
  const found = report.streams.find((stream) => stream.slice === slice);
  if (found === undefined) throw new Error(`the report has no slice ${slice}`);
  return found;
}

/** Live rows of each slice. */
async function countSlices(flow: Flow) {
  const { columns } = await flow.table('items');
  const live = columns['_deleted_at'] === undefined ? 'true' : '_deleted_at IS NULL';
  const rows = await flow.query(
    `SELECT coalesce(_slice, 'none') AS slice, count(*) AS n FROM main.items WHERE ${live} GROUP BY 1 ORDER BY 1`,
  );
  return Object.fromEntries(rows.map(({ slice, n }) => [String(slice), Number(n)]));
}

const both = [...rowsOf('acme'), ...rowsOf('globex')];

describe('slices in a table', () => {
  it('carry their name, and the same key in two of them is two rows', async () => {
    const flow = createSlicedFlow(sliced(['acme', 'globex']), both);
    const report = await flow.sync();
    expect(report.exitCode).toBe(0);
    expect(report.streams.map(({ slice, rowsInTable, verdict }) => [slice, rowsInTable, verdict])).toEqual([
      ['entity=acme', 10, 'verified'],
      ['entity=globex', 10, 'verified'],
    ]);
    expect(await countSlices(flow)).toEqual({ 'entity=acme': 10, 'entity=globex': 10 });
    expect(Object.keys((await flow.table('items')).columns).slice(-3)).toEqual([
      '_slice',
      '_run_id',
      '_synced_at',
    ]);
    const again = await resync(flow, [...rowsOf('acme', 10, 2), ...rowsOf('globex')]);
    expect(again.rows).toMatchObject({ inserted: 0, updated: 10, unchanged: 10, deleted: 0 });
  });

  it.each(['soft', 'hard'] as const)('lose their own rows only, with deletes: %s', async (deletes) => {
    const flow = createSlicedFlow(sliced(['acme', 'globex'], { deletes }), both);
    await flow.sync();
    const report = await resync(flow, [...rowsOf('acme', 8), ...rowsOf('globex')]);
    expect(sliceOf(report, 'entity=acme')).toMatchObject({ rowsInTable: 8, rows: { deleted: 2 } });
    expect(sliceOf(report, 'entity=globex')).toMatchObject({
      rowsInTable: 10,
      rows: { unchanged: 10, deleted: 0 },
    });
    expect(await countSlices(flow)).toEqual({ 'entity=acme': 8, 'entity=globex': 10 });
  });

  it('are guarded one by one', async () => {
    const flow = createSlicedFlow(sliced(['acme', 'globex'], { deletes: 'hard' }), both);
    await flow.sync();
    const report = await resync(flow, [...rowsOf('acme', 7), ...rowsOf('globex', 9)]);
    expect(report.exitCode).toBe(5);
    expect(sliceOf(report, 'entity=acme').error?.message).toMatch(
      /^items \(entity=acme\): 3 of the 10 rows of the slice would be deleted \(30 %\)/,
    );
    expect(sliceOf(report, 'entity=globex')).toMatchObject({ status: 'complete', rows: { deleted: 1 } });
    expect(await countSlices(flow)).toEqual({ 'entity=acme': 10, 'entity=globex': 9 });
    const emptied = await resync(flow, rowsOf('globex', 9));
    expect(sliceOf(emptied, 'entity=acme').error).toMatchObject({ code: 'source_emptied' });
  });

  it('without a key replace their own rows only', async () => {
    const words = (entity: string, word: string) =>
      Array.from({ length: 20 }, (_, at) => ({ entity, word: `${word} ${at % 3}` }));
    const stream = sliced(['acme', 'globex'], { key: 'auto' });
    const flow = createSlicedFlow(stream, [...words('acme', 'a'), ...words('globex', 'a')]);
    await flow.sync();
    const report = await resync(flow, [...words('acme', 'b'), ...words('globex', 'a')]);
    expect(sliceOf(report, 'entity=acme').rows).toMatchObject({ inserted: 20, deleted: 20 });
    expect(sliceOf(report, 'entity=globex').rows).toMatchObject({ unchanged: 20, deleted: 0 });
    expect(await countSlices(flow)).toEqual({ 'entity=acme': 20, 'entity=globex': 20 });
  });
});

describe('a stream that is cut into slices later', () => {
  it('adopts its rows by key, and lets the others follow deletes once every slice was read', async () => {
    const flow = createSlicedFlow(whole, [...both, ...rowsOf('initech')], {});
    await flow.sync();
    const stream = sliced(['acme', 'globex'], {
      key: ['id', 'entity'],
      deletes: 'hard',
      maxDeleteRatio: 0.5,
      history: true,
    });
    const report = await resync(flow, [...both, ...rowsOf('initech')], stream);
    expect(report.exitCode).toBe(0);
    // The rows carry another slice now, and are otherwise what they were.
    expect(sliceOf(report, 'entity=acme').rows).toMatchObject({ inserted: 0, updated: 10, deleted: 0 });
    expect(sliceOf(report, 'entity=globex').rows).toMatchObject({ inserted: 0, updated: 10, deleted: 10 });
    expect(sliceOf(report, 'entity=globex').reasons).toContain(
      '10 rows belonged to no slice of the config and were deleted',
    );
    expect(await countSlices(flow)).toEqual({ 'entity=acme': 10, 'entity=globex': 10 });
    expect(await flow.query('SELECT count(*) AS n FROM main.items_history WHERE _valid_to IS NULL')).toEqual([
      { n: 20 },
    ]);
    expect(await flow.query('SELECT slice FROM _sluice.checkpoints ORDER BY slice')).toEqual([
      { slice: 'entity=acme' },
      { slice: 'entity=globex' },
    ]);
  });

  it('keeps rows that no slice has with deletes: keep, and says so', async () => {
    const flow = createSlicedFlow(whole, [...both, ...rowsOf('initech')]);
    await flow.sync();
    const stream = sliced(['acme', 'globex'], { key: ['id', 'entity'] });
    const report = await resync(flow, [...both, ...rowsOf('initech')], stream);
    expect(sliceOf(report, 'entity=acme').reasons).toEqual([]);
    expect(sliceOf(report, 'entity=globex').reasons).toEqual([
      '10 rows of the table belong to no slice of the config; they are kept',
    ]);
    expect(await countSlices(flow)).toEqual({ 'entity=acme': 10, 'entity=globex': 10, none: 10 });
  });

  it('adopts rows by the key of that time after a rebuild, too', async () => {
    const records = (score: number) =>
      [...rowsOf('acme'), ...rowsOf('globex', 10, score)].map((row, id) => ({ ...row, id }));
    const flow = createSlicedFlow({ cursor: false, key: ['id'] }, records(1));
    await flow.sync();
    await resync(flow, records(1), sliced(['acme']));
    expect(await flow.rebuild(configOf(sliced(['acme'])))).toMatchObject({ exitCode: 0 });
    // Restated, so that only the key shows that they are the same rows.
    await resync(flow, records(2), sliced(['acme', 'globex']));
    expect(await countSlices(flow)).toEqual({ 'entity=acme': 10, 'entity=globex': 10 });
    expect(await flow.query("SELECT DISTINCT score FROM main.items WHERE entity = 'globex'")).toEqual([
      { score: 2 },
    ]);
  });

  it('takes no row of another slice for its own, though within a slice a part of the key will do', async () => {
    const three = [...both, ...rowsOf('initech')];
    const flow = createSlicedFlow(whole, three);
    await flow.sync();
    // Restated, so that only the key of before can tell whose a row is.
    const restated = ['acme', 'globex', 'initech'].flatMap((entity) => rowsOf(entity, 10, 2));
    await resync(flow, restated, sliced(['acme', 'globex']));
    expect(await countSlices(flow)).toEqual({ 'entity=acme': 10, 'entity=globex': 10, none: 10 });
    const kept = `SELECT DISTINCT entity, score FROM main.items WHERE _slice IS NULL`;
    expect(await flow.query(kept)).toEqual([{ entity: 'initech', score: 1 }]);
    // Its own slice, should it come to one, finds them.
    const report = await resync(flow, restated, sliced(['acme', 'globex', 'initech']));
    expect(sliceOf(report, 'entity=initech').rows).toMatchObject({ inserted: 0, updated: 10 });
    expect(await countSlices(flow)).toEqual({ 'entity=acme': 10, 'entity=globex': 10, 'entity=initech': 10 });
    expect(await flow.query('SELECT count(*) AS n FROM _sluice.checkpoints')).toEqual([{ n: 3 }]);
  });

  it('keeps them as long as one of its slices was not read', async () => {
    const flow = createSlicedFlow(whole, [...both, ...rowsOf('initech')]);
    await flow.sync();
    flow.simulator.setFaults([
      ({ query }) => (query.get('entity') === 'globex' ? { status: 404 } : undefined),
    ]);
    const stream = sliced(['acme', 'globex'], { key: ['id', 'entity'], deletes: 'hard', maxDeleteRatio: 1 });
    const report = await resync(flow, [...both, ...rowsOf('initech')], stream);
    expect(report.exitCode).toBe(5);
    expect(await countSlices(flow)).toEqual({ 'entity=acme': 10, none: 20 });
    flow.simulator.setFaults([]);
    await resync(flow, [...both, ...rowsOf('initech')], stream);
    expect(await countSlices(flow)).toEqual({ 'entity=acme': 10, 'entity=globex': 10 });
  });

  it('keeps more of them than the guard lets go, with a warning', async () => {
    const flow = createSlicedFlow(whole, [...rowsOf('acme'), ...rowsOf('initech', 90)]);
    await flow.sync();
    const report = await resync(
      flow,
      [...rowsOf('acme'), ...rowsOf('initech', 90)],
      sliced(['acme'], { key: ['id', 'entity'], deletes: 'hard' }),
    );
    expect(report.exitCode).toBe(0);
    expect(report.warnings).toEqual([
      expect.stringMatching(
        /90 rows of the table belong to no slice of the config; they are kept.*streams\.items\.maxDeleteRatio/,
      ),
    ]);
    expect(await countSlices(flow)).toEqual({ 'entity=acme': 10, none: 90 });
  });

  it('replaces its rows when they have no key', async () => {
    const words = (entity: string) =>
      Array.from({ length: 20 }, (_, at) => ({ entity, word: `w ${at % 3}` }));
    const flow = createSlicedFlow({ cursor: false }, [...words('acme'), ...words('initech')]);
    await flow.sync();
    const stream = sliced(['acme'], { key: 'auto', maxDeleteRatio: 1 });
    const report = await resync(flow, [...words('acme'), ...words('initech')], stream);
    expect(sliceOf(report, 'entity=acme').rows).toMatchObject({ updated: 20, deleted: 20 });
    expect(await countSlices(flow)).toEqual({ 'entity=acme': 20 });
  });
});

describe('a slice that the config no longer has', () => {
  it('loses its rows and its checkpoint, and is read in full when it returns', async () => {
    const three = [...both, ...rowsOf('initech', 4)];
    const policy = { deletes: 'hard' } as const;
    const flow = createSlicedFlow(sliced(['acme', 'globex', 'initech'], policy), three);
    await flow.sync();
    const report = await resync(flow, three, sliced(['acme', 'globex'], policy));
    expect(report.exitCode).toBe(0);
    expect(report.rows.deleted).toBe(4);
    expect(await countSlices(flow)).toEqual({ 'entity=acme': 10, 'entity=globex': 10 });
    expect(await flow.query('SELECT count(*) AS n FROM _sluice.checkpoints')).toEqual([{ n: 2 }]);
    const returned = await flow.sync(configOf(sliced(['acme', 'globex', 'initech'], policy)));
    expect(sliceOf(returned, 'entity=initech')).toMatchObject({ mode: 'full', rows: { inserted: 4 } });
  });
});

describe('rows of no slice, where the last slice of the config has no records', () => {
  const learned = { key: 'auto' } as const;

  it('are kept with deletes: keep, as with any other slice', async () => {
    const flow = createSlicedFlow(sliced(['acme', 'globex'], learned), both);
    await flow.sync();
    const report = await resync(flow, both, sliced(['acme', 'typo'], { ...learned, maxDeleteRatio: 1 }));
    expect(report.exitCode).toBe(0);
    expect(report.rows.deleted).toBe(0);
    expect(await countSlices(flow)).toEqual({ 'entity=acme': 10, 'entity=globex': 10 });
  });

  it('are kept with deletes: keep where the stream was not cut before', async () => {
    const flow = createSlicedFlow({ cursor: false }, both);
    await flow.sync();
    const stream = sliced(['acme', 'typo'], { ...learned, maxDeleteRatio: 1 });
    const report = await resync(flow, both, stream);
    expect(report.exitCode).toBe(0);
    expect(await countSlices(flow)).toEqual({ 'entity=acme': 10, none: 10 });
  });

  it('are guarded where they have no key, though the slices have more rows', async () => {
    const words = (entity: string, count: number) =>
      Array.from({ length: count }, (_, at) => ({ entity, word: `w ${at % 3}` }));
    const all = [...words('acme', 40), ...words('globex', 20)];
    const flow = createSlicedFlow({ cursor: false }, all);
    await flow.sync();
    const stream = sliced(['acme', 'typo'], learned);
    const report = await resync(flow, all, stream);
    expect(report.warnings).toContainEqual(expect.stringMatching(/20 rows .*maxDeleteRatio \(0\.2\)/));
    expect(await countSlices(flow)).toEqual({ 'entity=acme': 40, none: 20 });
    const allowed = await resync(flow, all, { ...stream, maxDeleteRatio: 0.4 });
    expect(allowed.rows.deleted).toBe(20);
    expect(await countSlices(flow)).toEqual({ 'entity=acme': 40 });
  });

  it('follow deletes: hard within the guard', async () => {
    const three = [...rowsOf('acme', 40), ...rowsOf('globex', 5)];
    const flow = createSlicedFlow(sliced(['acme', 'globex'], { ...learned, deletes: 'hard' }), three);
    await flow.sync();
    const report = await resync(flow, three, sliced(['acme', 'typo'], { ...learned, deletes: 'hard' }));
    expect(report.rows.deleted).toBe(5);
    expect(await countSlices(flow)).toEqual({ 'entity=acme': 40 });
  });
});

describe('a stream that is no longer cut into slices', () => {
  const policy = { deletes: 'hard', maxDeleteRatio: 0.5 } as const;

  it('matches rows of every slice by key, each once', async () => {
    const keyed = { key: ['id', 'entity'] };
    const flow = createSlicedFlow(sliced(['acme', 'globex'], { ...keyed, history: true }), both);
    await flow.sync();
    const report = await resync(flow, [...rowsOf('acme', 9), ...rowsOf('globex')], {
      ...whole,
      ...policy,
      history: true,
    });
    expect(report.exitCode).toBe(0);
    expect(report.rows).toMatchObject({ inserted: 0, updated: 19, deleted: 1 });
    expect(await countSlices(flow)).toEqual({ none: 19 });
    expect(await flow.query('SELECT count(*) AS n FROM main.items_history WHERE _valid_to IS NULL')).toEqual([
      { n: 19 },
    ]);
    expect(await flow.query('SELECT slice FROM _sluice.checkpoints')).toEqual([{ slice: '' }]);
    const again = await resync(flow, [...rowsOf('acme', 9), ...rowsOf('globex')], { ...whole, ...policy });
    expect(again.rows).toMatchObject({ inserted: 0, updated: 0, unchanged: 19, deleted: 0 });
  });

  it('has one row for a key that several slices had', async () => {
    const flow = createSlicedFlow(sliced(['acme', 'globex']), both);
    await flow.sync();
    const records = Array.from({ length: 10 }, (_, id) => ({ id, entity: 'all', score: 2 }));
    const report = await resync(flow, records, { cursor: false, key: ['id'] });
    expect(report).toMatchObject({ exitCode: 0, rows: { inserted: 0, updated: 10, deleted: 10 } });
    expect(await countSlices(flow)).toEqual({ none: 10 });
  });

  it('is read in full and adopts again when it is cut once more', async () => {
    const keyed = { key: ['id', 'entity'] };
    const flow = createSlicedFlow(sliced(['acme', 'globex'], keyed), both);
    await flow.sync();
    await resync(flow, both, whole);
    const report = await resync(flow, both, sliced(['acme', 'globex'], keyed));
    expect(report.streams.map(({ mode, rows }) => [mode, rows.updated, rows.inserted])).toEqual([
      ['full', 10, 0],
      ['full', 10, 0],
    ]);
    expect(await countSlices(flow)).toEqual({ 'entity=acme': 10, 'entity=globex': 10 });
  });
});

describe('verify', () => {
  const findProblems = async (flow: Flow, stream: StreamInput) =>
    (await verifyState(flow.settings(configOf(stream).config), { clock: flow.clock })).items.filter(
      ({ status }) => status !== 'ok',
    );
  const keyed = { key: ['id', 'entity'] };
  const three = [...both, ...rowsOf('initech')];

  it('finds nothing wrong where slices adopted some of the rows of a scan of the whole stream', async () => {
    const flow = createSlicedFlow(whole, three);
    await flow.sync();
    const stream = sliced(['acme', 'globex'], keyed);
    await resync(flow, three, stream);
    expect(await countSlices(flow)).toEqual({ 'entity=acme': 10, 'entity=globex': 10, none: 10 });
    expect(await findProblems(flow, stream)).toEqual([]);
    await flow.sync({ ...configOf(stream), fullRefresh: true });
    expect(await findProblems(flow, stream)).toEqual([]);
  });

  it('finds nothing wrong where a slice has not been read yet', async () => {
    const flow = createSlicedFlow(whole, three);
    await flow.sync();
    flow.simulator.setFaults([
      ({ query }) => (query.get('entity') === 'globex' ? { status: 404 } : undefined),
    ]);
    const stream = sliced(['acme', 'globex'], keyed);
    expect((await resync(flow, three, stream)).exitCode).toBe(5);
    expect(await findProblems(flow, stream)).toEqual([]);
  });

  it('still counts the rows of each slice', async () => {
    const flow = createSlicedFlow(whole, three);
    await flow.sync();
    const stream = sliced(['acme', 'globex'], keyed);
    await resync(flow, three, stream);
    const instance = await DuckDBInstance.create(join(flow.stateDir, 'work.duckdb'));
    const connection = await instance.connect();
    await connection.run(`DELETE FROM main.items WHERE entity = 'acme' AND id = 3`);
    connection.closeSync();
    instance.closeSync();
    expect((await findProblems(flow, stream)).map(({ detail }) => detail).join()).toMatch(
      /wrote 10 rows \(entity=acme\) according to its record, but the table has 9 of them/,
    );
  });
});
