import { describe, expect, it } from 'vitest';
import { beforeRequest } from '../../src/simulator/faults.ts';
import { deleteRows, rewritePagination } from '../../src/simulator/fault-effects.ts';
import { expectRows } from '../support/published.ts';
import {
  createItemsFlow,
  type Flow,
  type FlowConfig,
  HOUR_MS,
  makeItem,
  makeItems,
  noBuiltIns,
  streamOf,
} from '../support/sync-harness.ts';

type StreamInput = NonNullable<FlowConfig['streams']>[string];

const full: StreamInput = { cursor: false, key: ['id'] };
const dated = {
  cursor: { field: 'date', param: 'startDate', lookback: '3d' },
  key: ['id'],
} satisfies StreamInput;
const byDate = { endpoint: { dateField: 'date' } } as const;

const LIVE = 'SELECT id FROM main.items WHERE _deleted_at IS NULL ORDER BY id';
const idsOf = async (flow: Flow, sql = 'SELECT id FROM main.items ORDER BY id') =>
  (await flow.query(sql)).map(({ id }) => Number(id));
const ids = (items: readonly { readonly id: number }[]) => items.map(({ id }) => id);

/** Serves these records from now on, and syncs them. */
async function resync(flow: Flow, records: readonly unknown[], options: Parameters<Flow['sync']>[0] = {}) {
  flow.simulator.editRecords('items', () => records);
  await flow.clock.sleep(2 * HOUR_MS);
  return flow.sync(options);
}

/** The same stream with other settings. */
const configOf = (stream: StreamInput) => ({
  config: { streams: { ...noBuiltIns, items: { path: 'items', paginated: true, ...stream } } },
});

describe('rows that left the source', () => {
  it('are kept by default, and counted', async () => {
    const flow = createItemsFlow(makeItems(120), { stream: full });
    await flow.sync();
    const report = await resync(flow, makeItems(100));
    expect(streamOf(report)).toMatchObject({
      verdict: 'verified',
      rowsInTable: 120,
      rows: { unchanged: 100, deleted: 0 },
      reasons: ['20 rows of the table no longer come from the API; they are kept'],
    });
  });

  it('are counted among the days that an incremental scan reads in full, too, and only there', async () => {
    const items = makeItems(300);
    const flow = createItemsFlow(items, { ...byDate, stream: dated });
    await flow.sync();
    // Of 6 January, the newest day; 2 January is before the window, 3 January its first day.
    const gone = new Set([60, 120, 260, 270]);
    const left = items.filter(({ id }) => !gone.has(id));
    const report = await resync(flow, [...left, makeItem(300)]);
    expect(streamOf(report)).toMatchObject({
      // Rows left in between others: whether some are missing as well, only reading in full tells.
      mode: 'full',
      verdict: 'verified',
      rowsInTable: 301,
      rows: { inserted: 1, deleted: 0 },
      reasons: ['4 rows of the table no longer come from the API; they are kept'],
    });
    const again = await resync(flow, [...left, makeItem(300), makeItem(260)]);
    expect(streamOf(again).reasons).toEqual([
      '1 row of the table from 2026-01-05 on no longer comes from the API; it is kept',
    ]);
    expect(streamOf(await resync(flow, [...items, makeItem(300)])).reasons).toEqual([]);
  });

  it('are removed with deletes: hard', async () => {
    const flow = createItemsFlow(makeItems(120), { stream: { ...full, deletes: 'hard' } });
    await flow.sync();
    const report = await resync(flow, [...makeItems(100), makeItem(500)]);
    expect(streamOf(report)).toMatchObject({
      rowsInTable: 101,
      rows: { inserted: 1, unchanged: 100, deleted: 20 },
      reasons: [],
    });
    expect(await flow.rows('items')).toEqual(expectRows([...makeItems(100), makeItem(500)]));
    expect((await flow.table('items')).columns).not.toHaveProperty('_deleted_at');
  });

  it('are marked with deletes: soft, and lose the mark when they come back', async () => {
    const flow = createItemsFlow(makeItems(120), { stream: { ...full, deletes: 'soft' } });
    await flow.sync();
    expect((await flow.table('items')).columns).toMatchObject({ _deleted_at: 'TIMESTAMP WITH TIME ZONE' });
    const second = await resync(flow, makeItems(100));
    expect(streamOf(second)).toMatchObject({ rowsInTable: 100, rows: { unchanged: 100, deleted: 20 } });
    expect(await idsOf(flow, LIVE)).toEqual(ids(makeItems(100)));
    expect(
      await flow.query(
        `SELECT DISTINCT _run_id AS run, _deleted_at = _synced_at AS at FROM main.items WHERE _deleted_at IS NOT NULL`,
      ),
    ).toEqual([{ run: second.runId, at: true }]);

    const third = await resync(flow, makeItems(100));
    expect(streamOf(third)).toMatchObject({ rowsInTable: 100, rows: { unchanged: 100, deleted: 0 } });
    const fourth = await resync(flow, makeItems(110));
    expect(streamOf(fourth).rows).toMatchObject({ inserted: 0, updated: 10, unchanged: 100, deleted: 0 });
    expect(await idsOf(flow, LIVE)).toEqual(ids(makeItems(110)));
    expect(await idsOf(flow)).toEqual(ids(makeItems(120)));
  });

  it('are marked in a table from before, and marked ones go once rows are removed', async () => {
    const flow = createItemsFlow(makeItems(120), { stream: full });
    await flow.sync();
    const soft = await resync(flow, makeItems(100), configOf({ ...full, deletes: 'soft' }));
    expect(streamOf(soft)).toMatchObject({ rowsInTable: 100, rows: { deleted: 20 } });
    const hard = await resync(flow, makeItems(95), configOf({ ...full, deletes: 'hard' }));
    expect(streamOf(hard)).toMatchObject({ rowsInTable: 95, rows: { deleted: 5 } });
    // They were counted when they were marked.
    expect(streamOf(hard).reasons).toEqual([
      '20 rows that were marked as deleted before left the table, because deletes is hard',
    ]);
    expect(await idsOf(flow)).toEqual(ids(makeItems(95)));
  });

  it('follow defaults.deletes where the stream does not say otherwise', async () => {
    const flow = createItemsFlow(makeItems(50), { stream: full, config: { defaults: { deletes: 'hard' } } });
    await flow.sync();
    await resync(flow, makeItems(45));
    expect(await idsOf(flow)).toEqual(ids(makeItems(45)));
  });

  it('stay in a scan that is not verified', async () => {
    const flow = createItemsFlow(makeItems(250), { stream: { ...full, deletes: 'hard' } });
    await flow.sync();
    flow.simulator.setFaults([rewritePagination({ total: undefined })]);
    const unverified = await resync(flow, makeItems(240));
    expect(streamOf(unverified)).toMatchObject({
      verdict: 'unverified',
      rowsInTable: 250,
      rows: { deleted: 0 },
    });
    expect(streamOf(unverified).reasons).toContain(
      '10 rows of the table no longer come from the API; they are kept: the scan is not verified',
    );

    let nth = 0;
    flow.simulator.setFaults(
      Array.from({ length: 12 }, () =>
        beforeRequest((nth += 2), (service) => service.editRecords('items', deleteRows(3))),
      ),
    );
    const drifted = await flow.sync({ force: true });
    expect(streamOf(drifted)).toMatchObject({ verdict: 'drifted', rowsInTable: 250, rows: { deleted: 0 } });
  });

  it('stay in a scan that put records into quarantine, which may be their newer versions', async () => {
    const flow = createItemsFlow(makeItems(100), { stream: { ...full, deletes: 'hard' } });
    await flow.sync();
    const report = await resync(flow, [...makeItems(95), 'no object']);
    expect(streamOf(report)).toMatchObject({
      verdict: 'verified',
      rowsInTable: 100,
      rows: { deleted: 0, quarantined: 1 },
    });
    expect(streamOf(report).reasons).toContain(
      '5 rows of the table did not arrive as rows; they are kept: 1 record of this scan is in quarantine',
    );
    expect((await resync(flow, makeItems(95))).rows.deleted).toBe(5);
  });

  it('stay with write: append', async () => {
    const flow = createItemsFlow(makeItems(50), { stream: { ...full, write: 'append', deletes: 'hard' } });
    await flow.sync();
    expect((await resync(flow, makeItems(45))).rows).toMatchObject({ unchanged: 45, deleted: 0 });
    expect(await idsOf(flow)).toEqual(ids(makeItems(50)));
  });

  it('stay with --limit', async () => {
    const flow = createItemsFlow(makeItems(50), { stream: { ...full, deletes: 'hard' } });
    await flow.sync();
    expect((await flow.sync({ limit: 10 })).rows.deleted).toBe(0);
    expect(await idsOf(flow)).toEqual(ids(makeItems(50)));
  });
});

describe('the lookback window', () => {
  const items = makeItems(500);
  const last = items.slice(-60);

  it.each(['keep', 'soft', 'hard'] as const)(
    'lets absent rows go as deletes: %s says, and no others',
    async (deletes) => {
      const flow = createItemsFlow(items, { ...byDate, stream: { ...dated, deletes } });
      await flow.sync();
      // Of the days 2026-01-07 to 2026-01-10 five rows go.
      const left = items.filter(({ id }) => !(id >= 470 && id < 475));
      const report = await resync(flow, left);
      const kept = '5 rows of the table from 2026-01-08 on no longer come from the API; they are kept';
      const reasons = deletes === 'keep' ? [kept] : [];
      expect(streamOf(report)).toMatchObject({ mode: 'incremental', verdict: 'verified', reasons });
      expect(report.rows).toMatchObject({ updated: 0, deleted: deletes === 'keep' ? 0 : 5 });
      const live = deletes === 'soft' ? await idsOf(flow, LIVE) : await idsOf(flow);
      expect(live).toEqual(deletes === 'keep' ? ids(items) : ids(left));
      if (deletes === 'hard') expect(await flow.rows('items')).toEqual(expectRows(left));
    },
  );

  it.each(['soft', 'hard'] as const)(
    'lets nothing go as deletes: %s says while the count does not confirm it, and the next sync reads in full',
    async (deletes) => {
      const flow = createItemsFlow(items, { ...byDate, stream: { ...dated, deletes } });
      await flow.sync();
      // One row of a day that is not asked for went, too.
      const left = items.filter(({ id }) => !(id >= 470 && id < 475) && id !== 10);
      const report = await resync(flow, left, { maxRequests: 8 });
      expect(streamOf(report)).toMatchObject({ mode: 'incremental', difference: -1, rows: { deleted: 0 } });
      expect(streamOf(report).reasons.join()).toContain(
        'nothing was deleted: 5 rows of the days just read went missing, but the API counts 494 rows in all',
      );
      expect(report.warnings.join()).toContain('the next sync reads the stream in full');
      const next = await flow.sync();
      expect(streamOf(next)).toMatchObject({ mode: 'full', verdict: 'verified', rows: { deleted: 6 } });
      expect(deletes === 'soft' ? await idsOf(flow, LIVE) : await idsOf(flow)).toEqual(ids(left));
    },
  );

  it('never misses rows without a date', async () => {
    const undated = [...items, { id: 900, date: null, name: 'undated', amount: 1 }];
    const flow = createItemsFlow(undated, { ...byDate, stream: { ...dated, deletes: 'hard' } });
    await flow.sync();
    const report = await resync(flow, [...items.slice(0, 495), ...undated.slice(-1)]);
    expect(streamOf(report)).toMatchObject({ mode: 'incremental', rows: { deleted: 5 } });
    expect(await idsOf(flow)).toEqual([...ids(items.slice(0, 495)), 900]);
  });

  it('takes nothing away on the strength of a cursor that is only tried and not proved', async () => {
    // Every row is of one day: the answer to startDate is no smaller than the whole.
    const oneDay = makeItems(90, { perDay: 1_000 });
    const flow = createItemsFlow(oneDay, { ...byDate, stream: { key: ['id'], deletes: 'hard' } });
    await flow.sync();
    const report = await resync(flow, [
      ...oneDay.slice(0, 85),
      ...makeItems(5, { from: 100, perDay: 1_000 }),
    ]);
    expect(streamOf(report)).toMatchObject({
      mode: 'incremental',
      verdict: 'verified',
      rows: { deleted: 0 },
    });
    expect(streamOf(report).reasons).toContain('nothing was deleted: the cursor is not proved yet');
  });

  it('keeps what quarantine may hold a newer version of', async () => {
    const flow = createItemsFlow(items, {
      endpoint: { dateField: 'date' },
      stream: { ...dated, deletes: 'hard' },
    });
    await flow.sync();
    flow.simulator.setFaults([
      ({ query }) =>
        query.has('startDate')
          ? {
              envelope: (envelope) => ({
                ...envelope,
                data: envelope.data.map((one, at) => (at === 50 ? 'x' : one)),
              }),
            }
          : undefined,
    ]);
    const report = await resync(flow, items.slice(0, 495));
    expect(streamOf(report)).toMatchObject({ mode: 'incremental', rows: { deleted: 0 } });
    expect(report.rows.quarantined).toBeGreaterThan(0);
    expect(streamOf(report).reasons.join()).toMatch(
      /nothing was deleted: \d+ records? of this scan (is|are) in quarantine/,
    );
  });

  it('of a keyless stream is replaced, softly where config says so', async () => {
    const day = (date: string, word: string) =>
      Array.from({ length: 30 }, (_, at) => ({ date, word: `${word} ${at % 5}` }));
    const days = [
      '2026-01-01',
      '2026-01-02',
      '2026-01-03',
      '2026-01-04',
      '2026-01-05',
      '2026-01-06',
      '2026-01-07',
    ];
    const flow = createItemsFlow(
      days.flatMap((date) => day(date, 'a')),
      { ...byDate, stream: { cursor: dated.cursor, deletes: 'soft' } },
    );
    expect(streamOf(await flow.sync()).key).toBeUndefined();
    const next = days.flatMap((date) => day(date, date === '2026-01-07' ? 'b' : 'a'));
    for (let run = 0; run < 2; run += 1) {
      const report = await resync(flow, next);
      expect(streamOf(report)).toMatchObject({ mode: 'incremental', rowsInTable: 210 });
      expect(report.rows).toMatchObject(
        run === 0 ? { inserted: 30, deleted: 30 } : { inserted: 0, deleted: 0 },
      );
    }
    expect(
      await flow.query(`SELECT word[1] AS word, _deleted_at IS NOT NULL AS gone, count(*) AS n FROM main.items
      WHERE date = '2026-01-07' GROUP BY ALL ORDER BY ALL`),
    ).toEqual([
      { word: 'a', gone: true, n: 30 },
      { word: 'b', gone: false, n: 30 },
    ]);
  });

  it('is widened to everything once rows outside of it are counted as gone', async () => {
    const flow = createItemsFlow(items, {
      ...byDate,
      stream: { ...dated, deletes: 'hard' },
    });
    await flow.sync();
    flow.simulator.editRecords('items', () => [...items.slice(20, 400), ...last]);
    const seen: unknown[] = [];
    for (let day = 0; day < 3; day += 1) {
      await flow.clock.sleep(24 * HOUR_MS);
      const { mode, rows, rowsInTable } = streamOf(await flow.sync());
      seen.push([mode, rows.deleted, rowsInTable]);
    }
    // The window begins on 2026-01-07, which is row 300; 20 rows before it went as well.
    expect(seen).toEqual([
      ['full', 60, 440],
      ['incremental', 0, 440],
      ['incremental', 0, 440],
    ]);
    expect(await flow.rows('items')).toEqual(expectRows([...items.slice(20, 400), ...last]));
  });
});

describe('the guard', () => {
  it('refuses to delete more than the share, and keeps the pages until more are allowed', async () => {
    const flow = createItemsFlow(makeItems(300), { stream: { ...full, deletes: 'hard' } });
    await flow.sync();
    const before = await flow.table('items');
    const report = await resync(flow, makeItems(239));
    expect(report.exitCode).toBe(4);
    const { error, status, rows } = streamOf(report);
    expect(status).toBe('failed');
    expect(rows.deleted).toBe(0);
    expect(error).toMatchObject({ code: 'deletes_refused', exitCode: 4 });
    expect(error?.message).toBe(
      'items: 61 of the 300 rows of the table would be deleted (20.3 %), more than the allowed 20 %',
    );
    expect(error?.hint).toMatch(/table is unchanged.*streams\.items\.maxDeleteRatio to at least 0\.21/);
    expect(await flow.table('items')).toEqual(before);

    const allowed = await flow.sync(configOf({ ...full, deletes: 'hard', maxDeleteRatio: 0.21 }));
    expect(allowed).toMatchObject({ exitCode: 0, rows: { deleted: 61 } });
    // The head page, to know that nothing moved since.
    expect(allowed.requests).toBe(1);
    expect(await flow.rows('items')).toEqual(expectRows(makeItems(239)));
  });

  it('lets exactly the share go', async () => {
    const flow = createItemsFlow(makeItems(300), { stream: { ...full, deletes: 'soft' } });
    await flow.sync();
    expect((await resync(flow, makeItems(240))).rows.deleted).toBe(60);
    // The share is of the rows that are left: those marked before do not count.
    expect((await resync(flow, makeItems(191))).exitCode).toBe(4);
    expect((await resync(flow, makeItems(192))).rows.deleted).toBe(48);
  });

  it('counts what replaces a row of a stream without a key against what it replaces', async () => {
    const words = (count: number, word: string) =>
      Array.from({ length: count }, (_, at) => ({ word: `${word} ${at % 7}` }));
    const flow = createItemsFlow(words(100, 'a'), { stream: { cursor: false } });
    expect(streamOf(await flow.sync()).key).toBeUndefined();
    expect((await resync(flow, words(90, 'b'))).rows).toMatchObject({ inserted: 90, deleted: 100 });
    const refused = await resync(flow, words(71, 'c'));
    expect(streamOf(refused).error).toMatchObject({ code: 'deletes_refused', exitCode: 4 });
    expect(await flow.rows('items')).toEqual(expectRows(words(90, 'b')));
  });

  it('holds for write: replace as well', async () => {
    const flow = createItemsFlow(makeItems(100), { stream: { ...full, write: 'replace' } });
    await flow.sync();
    expect((await resync(flow, makeItems(80))).rows.deleted).toBe(20);
    expect(streamOf(await resync(flow, makeItems(60))).error?.code).toBe('deletes_refused');
    expect((await resync(flow, makeItems(60, { from: 100 }))).exitCode).toBe(4);
    expect((await resync(flow, makeItems(70, { from: 100 }))).rows).toMatchObject({
      inserted: 70,
      deleted: 80,
    });
  });

  it('gives way to --allow-empty when the source is empty, and only then', async () => {
    const flow = createItemsFlow(makeItems(50), { stream: { ...full, deletes: 'hard' } });
    await flow.sync();
    const few = await resync(flow, makeItems(5), { allowEmpty: true });
    expect(streamOf(few).error?.code).toBe('deletes_refused');
    const emptied = await resync(flow, []);
    expect(streamOf(emptied).error?.code).toBe('source_emptied');
    expect(await idsOf(flow)).toHaveLength(50);
    const allowed = await resync(flow, [], { allowEmpty: true });
    expect(allowed).toMatchObject({ exitCode: 0, rows: { deleted: 50 } });
    expect(await idsOf(flow)).toEqual([]);
  });

  it('does not take marked rows for rows of the table', async () => {
    const flow = createItemsFlow(makeItems(50), { stream: { ...full, deletes: 'soft' } });
    await flow.sync();
    expect((await resync(flow, [], { allowEmpty: true })).rows.deleted).toBe(50);
    // Nothing is left that an empty answer could contradict.
    expect(await resync(flow, [])).toMatchObject({ exitCode: 0, rows: { deleted: 0 } });
    expect((await resync(flow, makeItems(50))).rows).toMatchObject({ inserted: 0, updated: 50 });
  });
});
