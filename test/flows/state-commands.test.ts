import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lockStateFolder } from '../../state/lock.ts';
import type { ConfirmChange, ExportedState, StateChange } from '../../src/model/state-report.ts';
import { importState, resetState } from '../../src/commands/state/change-state.ts';
import { Database } from '../../src/warehouse/database.ts';
import { readState } from '../../src/commands/state/read-state.ts';
import { createRowsFlow, dateOf } from '../support/rows-api.ts';
import {
  createItemsFlow,
  type Flow,
  HOUR_MS,
  makeItem,
  makeItems,
  streamOf,
} from '../support/sync-harness.ts';

const agree: ConfirmChange = () => Promise.resolve(true);

async function createSynced(): Promise<Flow> {
  const flow = createItemsFlow(makeItems(250), {
    stream: { cursor: { field: 'date', param: 'startDate' }, history: true },
    endpoint: { dateField: 'date' },
  });
  expect((await flow.sync()).exitCode).toBe(0);
  return flow;
}

const read = async (flow: Flow) => (await readState(flow.settings(), { clock: flow.clock })).state;
const put = (flow: Flow, state: unknown, confirm = agree) =>
  importState(flow.settings(), JSON.stringify(state), { confirm, clock: flow.clock });

/** An exported state with one checkpoint changed. */
function change(state: ExportedState, changes: object): ExportedState {
  return { ...state, checkpoints: state.checkpoints.map((held) => ({ ...held, ...changes })) };
}

describe('state export and import', () => {
  it('give a checkpoint back as it was', async () => {
    const flow = await createSynced();
    const before = await read(flow);
    expect(before).toMatchObject({
      format: 'sluice-state',
      version: 1,
      checkpoints: [{ stream: 'items', watermark: '2026-01-05' }],
    });
    expect(JSON.stringify(before)).not.toContain('demo');
    await flow.clock.sleep(2 * HOUR_MS);
    flow.simulator.editRecords('items', (records) => [...records, makeItem(300)]);
    await flow.sync();
    expect((await read(flow)).checkpoints[0]?.watermark).toBe('2026-01-07');
    const told: StateChange[] = [];
    const report = await put(flow, before, (changes: readonly StateChange[]) => {
      told.push(...changes);
      return Promise.resolve(true);
    });
    expect(told).toMatchObject([{ watermarkBefore: '2026-01-07', watermarkAfter: '2026-01-05' }]);
    expect(report).toMatchObject({ cancelled: false, warnings: [], published: { path: flow.duckdbPath } });
    expect(await flow.query('SELECT watermark FROM _sluice.checkpoints')).toEqual([
      { watermark: '2026-01-05' },
    ]);
    // What the table holds, no scan has verified by this checkpoint: the next sync is not skipped.
    const next = await flow.sync();
    expect(streamOf(next)).toMatchObject({ status: 'complete', mode: 'incremental', rows: { inserted: 0 } });
    expect(flow.arrivals[0]?.query).toContain('startDate=2026-01-02');
    // No archived scan led to it either.
    expect((await flow.rebuild()).exitCode).toBe(6);
  });

  it('change nothing when everything is as it is, or nobody agrees', async () => {
    const flow = await createSynced();
    const state = await read(flow);
    expect(await put(flow, state)).toMatchObject({ changes: [], published: undefined });
    const no = () => Promise.resolve(false);
    expect(await put(flow, change(state, { watermark: '2026-01-02' }), no)).toMatchObject({
      cancelled: true,
    });
    expect(await read(flow)).toEqual(state);
  });

  const UNREAD =
    'the table of items does not have the rows of its checkpoint: the next sync reads it in full';

  it('keep a full refresh due that the table needs, whatever the exported state knew of it', async () => {
    const day = (date: string) => Array.from({ length: 3 }, (_, at) => ({ id: `${date}/${at}`, date }));
    const dates = Array.from({ length: 12 }, (_, at) => dateOf(at - 12));
    const api = createRowsFlow(
      {
        rows: (today) => {
          const rows = [...dates, ...Array.from({ length: today }, (_, at) => dateOf(at))].flatMap(day);
          return today < 1 ? rows : rows.map((row) => ({ ...row, score: 1 }));
        },
      },
      { key: ['id'], cursor: { field: 'date', param: 'startDate' } },
    );
    await api.syncAfter(0);
    const state = await read(api.flow);
    const grown = streamOf(await api.syncAfter(1));
    expect(grown).toMatchObject({ mode: 'incremental', verdict: 'verified' });
    await put(api.flow, state);
    expect(streamOf(await api.syncAfter(1))).toMatchObject({ mode: 'full', verdict: 'verified' });
    expect(await api.flow.query('SELECT count(*) AS n FROM main.items WHERE score IS NULL')).toEqual([
      { n: 0 },
    ]);
  });

  it('leave no row out by a watermark that was moved forward', async () => {
    const flow = await createSynced();
    const { warnings } = await put(flow, change(await read(flow), { watermark: '2026-01-20' }));
    expect(warnings).toEqual([UNREAD]);
    expect(streamOf(await flow.sync())).toMatchObject({ mode: 'full', verdict: 'verified' });
  });

  it('give a checkpoint no rows that its table lacks: the next sync reads it in full', async () => {
    const flow = await createSynced();
    const state = await read(flow);
    await resetState(flow.settings(), { confirm: agree, clock: flow.clock, dropTables: true });
    await flow.sync({ limit: 7 });
    expect((await put(flow, state)).warnings).toEqual([UNREAD]);
    const report = await flow.sync();
    expect(streamOf(report)).toMatchObject({ mode: 'full', verdict: 'verified', rowsInTable: 250 });
    expect(await flow.rows('items')).toHaveLength(250);
  });

  it.each([
    { what: 'a row less', sql: 'DELETE FROM main.items WHERE id = 9' },
    { what: 'another value', sql: 'UPDATE main.items SET amount = -1 WHERE id = 9' },
  ])('tell rows apart by their values: $what', async ({ sql }) => {
    const flow = await createSynced();
    const state = await read(flow);
    await resetState(flow.settings(), { confirm: agree, clock: flow.clock });
    const database = await Database.open({ file: join(flow.stateDir, 'work.duckdb'), folders: [] });
    await database.run(sql);
    await database.release();
    expect((await put(flow, state)).warnings).toEqual([UNREAD]);
    expect(streamOf(await flow.sync())).toMatchObject({ mode: 'full', rowsInTable: 250 });
  });

  it('continue from a checkpoint whose rows are all there, after it was forgotten', async () => {
    const flow = await createSynced();
    const state = await read(flow);
    await resetState(flow.settings(), { confirm: agree, clock: flow.clock });
    expect((await put(flow, state)).warnings).toEqual([]);
    expect(streamOf(await flow.sync())).toMatchObject({ mode: 'incremental', verdict: 'verified' });
  });

  it.each<[string, (state: ExportedState) => unknown, RegExp]>([
    [
      'of another API',
      (state) => ({ ...state, baseUrl: 'https://other/v1' }),
      /is of analytics-read at https:\/\/other/,
    ],
    ['of another connector', (state) => ({ ...state, connector: 'x' }), /is of x at/],
    ['of a newer version', (state) => ({ ...state, version: 2 }), /newer Sluice \(version 2\)/],
    ['that is none', () => ({ hello: 1 }), /it was not written by/],
    ['with a wrong date', (state) => change(state, { watermark: '5 May' }), /checkpoints\.0\.watermark: /],
    [
      'of a stream nobody knows',
      (state) => change(state, { stream: 'itms' }),
      /unknown stream "itms"; did you mean "items"/,
    ],
    ['with a key the table does not have', (state) => change(state, { keyFields: ['sku'] }), /no column sku/],
    [
      'with a key that repeats',
      (state) => change(state, { keyFields: ['date'] }),
      /its key \(date\) is not unique/,
    ],
    [
      'with a checkpoint twice',
      (state) => ({ ...state, checkpoints: [...state.checkpoints, ...state.checkpoints] }),
      /two checkpoints of items/,
    ],
  ])('refuse a state %s', async (_, make, message) => {
    const flow = await createSynced();
    const before = await read(flow);
    const wrong = make(before);
    await expect(put(flow, wrong)).rejects.toMatchObject({ exitCode: 2 });
    await expect(put(flow, wrong)).rejects.toThrow(message);
    expect(await read(flow)).toEqual(before);
  });

  it('refuse a checkpoint without its table', async () => {
    const state = await read(await createSynced());
    const flow = createItemsFlow(makeItems(5));
    await expect(put(flow, state)).rejects.toThrow('there is no table of that name here');
  });

  it('read the published file while a run has the other', async () => {
    const flow = await createSynced();
    const lock = await lockStateFolder(flow.stateDir, '2026-01-31T12:00:00Z');
    const report = await readState(flow.settings(), { clock: flow.clock });
    await expect(put(flow, report.state)).rejects.toMatchObject({ code: 'state_locked', exitCode: 75 });
    await lock.release();
    expect(report).toMatchObject({ source: 'published file', state: { checkpoints: [{ stream: 'items' }] } });
  });

  it('say so when there is nothing yet', async () => {
    const flow = createItemsFlow(makeItems(5));
    expect(await readState(flow.settings())).toMatchObject({ source: 'nothing', state: { checkpoints: [] } });
    expect(existsSync(flow.stateDir)).toBe(false);
    await expect(readState(flow.settings(), { streams: ['itms'] })).rejects.toThrow('did you mean "items"');
  });
});

describe('state reset', () => {
  it('makes the next sync a full one, and leaves the table', async () => {
    const flow = await createSynced();
    const report = await resetState(flow.settings(), { confirm: agree, clock: flow.clock });
    expect(report).toMatchObject({
      changes: [{ stream: 'items', rowsDropped: undefined }],
      cancelled: false,
    });
    expect(await flow.query('SELECT * FROM _sluice.checkpoints')).toEqual([]);
    expect(await flow.query('SELECT count(*) AS n FROM main.items')).toEqual([{ n: 250 }]);
    expect(streamOf(await flow.sync())).toMatchObject({
      mode: 'full',
      rows: { unchanged: 250, inserted: 0 },
    });
  });

  it('drops tables, versions and what was quarantined when asked to', async () => {
    const flow = await createSynced();
    const report = await resetState(flow.settings(), { dropTables: true, confirm: agree, clock: flow.clock });
    expect(report.changes).toMatchObject([{ stream: 'items', rowsDropped: 250 }]);
    const tables = await flow.query(
      `SELECT table_name FROM duckdb_tables() WHERE database_name = 'copy' AND schema_name = 'main'`,
    );
    expect(tables).toEqual([]);
    expect(await flow.query('SELECT * FROM _sluice.contracts')).toEqual([]);
    expect(streamOf(await flow.sync())).toMatchObject({ mode: 'full', rows: { inserted: 250 } });
  });

  it('counts the rows of a dropped table once, however many slices share it', async () => {
    const records = ['acme', 'globex'].flatMap((entity) =>
      Array.from({ length: 5 }, (_, id) => ({ id, entity })),
    );
    const flow = createItemsFlow(records, {
      endpoint: { filters: { entity: ['entity'] } },
      stream: {
        cursor: false,
        key: ['id'],
        params: { entity: ['acme', 'globex'] },
        sliceBy: ['entity'],
      },
    });
    expect((await flow.sync()).exitCode).toBe(0);
    const report = await resetState(flow.settings(), { dropTables: true, confirm: agree, clock: flow.clock });
    expect(report.changes.map(({ slice, rowsDropped }) => [slice, rowsDropped])).toEqual([
      ['entity=acme', 10],
      ['entity=globex', undefined],
    ]);
  });

  it('forgets pages that a stopped scan kept', async () => {
    const flow = await createSynced();
    await flow.clock.sleep(2 * HOUR_MS);
    await flow.sync({ fullRefresh: true, maxRequests: 2 });
    expect(existsSync(join(flow.stateDir, 'stage', 'items'))).toBe(true);
    await resetState(flow.settings(), { confirm: agree, clock: flow.clock });
    expect(existsSync(join(flow.stateDir, 'stage', 'items'))).toBe(false);
  });

  it('has nothing to do before the first sync', async () => {
    const flow = createItemsFlow(makeItems(5));
    expect(await resetState(flow.settings(), { confirm: agree })).toMatchObject({ changes: [] });
    expect(flow.isPublished()).toBe(false);
  });
});
