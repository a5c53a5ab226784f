import { describe, expect, it } from 'vitest';
import { createRowsFlow, dateOf, type Row, type RowsApi, type RowsFlow } from '../support/rows-api.ts';
import { eventsOf, streamOf } from '../support/sync-harness.ts';

// A key with a date in it leaves the old copy of a row whose date changes; one without it needs an id that never repeats.

const PER_DAY = 8;
const dated = { cursor: { field: 'date', param: 'startDate' } } as const;

/** Rows of the days from the first one on, each with an id of its own. */
function rowsFrom(
  first: number,
  day: number,
  idOf: (date: number, n: number) => string | number = (date, n) => `${date}/${n}`,
): readonly Row[] {
  return Array.from({ length: day - first + 1 }, (_, at) => first + at).flatMap((date) =>
    Array.from({ length: PER_DAY }, (_, n) => ({
      id: idOf(date, n),
      date: dateOf(date),
      score: date * PER_DAY + n,
    })),
  );
}

/** The rows with one of them moved to another day. */
function move(rows: readonly Row[], id: string, day: number): readonly Row[] {
  return rows.map((row) => (row['id'] === id ? { ...row, date: dateOf(day) } : row));
}

async function expectHeld(rowsFlow: RowsFlow): Promise<void> {
  const rows = await rowsFlow.flow.query(
    'SELECT id, CAST(date AS VARCHAR) AS date, score FROM main.items ORDER BY score',
  );
  expect(rows).toEqual(rowsFlow.held().toSorted((a, b) => Number(a['score']) - Number(b['score'])));
}

const keyOf = (report: Parameters<typeof streamOf>[0]) => streamOf(report).key?.columns;

describe('a row whose date changes', () => {
  it('is found again by an id that is unique over several days', async () => {
    const rowsFlow = createRowsFlow({
      rows: (day) => (day < 1 ? rowsFrom(-9, day) : move(rowsFrom(-9, day), '-7/3', day)),
    });
    expect(keyOf(await rowsFlow.syncAfter(0))).toEqual(['id']);
    const report = streamOf(await rowsFlow.syncAfter(1));
    expect(report).toMatchObject({ mode: 'incremental', verdict: 'verified', difference: 0 });
    await expectHeld(rowsFlow);
  });

  it('is found again by a UUID of any name', async () => {
    const uuid = (row: Row) => ({
      ...row,
      id: undefined,
      origin: `0190f5fe-7c00-7a00-8000-${String(Number(row['score']) + 1_000).padStart(12, '0')}`,
    });
    const moved = (row: Row, day: number) =>
      row['id'] === '-7/3' && day > 0 ? { ...row, date: dateOf(day) } : row;
    const rowsFlow = createRowsFlow({ rows: (day) => rowsFrom(-9, day).map((row) => uuid(moved(row, day))) });
    expect(keyOf(await rowsFlow.syncAfter(0))).toEqual(['origin']);
    expect(streamOf(await rowsFlow.syncAfter(1))).toMatchObject({ verdict: 'verified', rowsInTable: 88 });
  });
});

describe('an id that repeats each day', () => {
  const daily = (first: number, day: number) => rowsFrom(first, day, (_, n) => `p${n}`);

  it('and was seen on one day so far is distinguished by the date as well', async () => {
    const rowsFlow = createRowsFlow({ rows: (day) => daily(0, day) }, dated);
    expect(keyOf(await rowsFlow.syncAfter(0))).toEqual(['date', 'id']);
    for (let day = 1; day < 4; day += 1)
      expect(streamOf(await rowsFlow.syncAfter(1))).toMatchObject({ verdict: 'verified', difference: 0 });
    await rowsFlow.syncAfter(1, { fullRefresh: true });
    expect(keyOf(await rowsFlow.syncAfter(1))).toEqual(['date', 'id']);
    await expectHeld(rowsFlow);
  });

  it.each([
    ['one row a day', 1, 8],
    ['many rows on one of the days', 60, 1],
  ])('is not proved by few rows: %s', async (_, onFirst, days) => {
    const first = Array.from({ length: onFirst }, (__, n) => ({ id: `a${n}`, date: dateOf(-20), score: n }));
    const others = Array.from({ length: Math.max(2, days - 4) }, (__, n) => ({
      id: `b${n}`,
      date: dateOf(n - 19),
      score: 100 + n,
      kind: 'x',
    }));
    const rowsFlow = createRowsFlow({ rows: () => [...first, ...others] });
    expect(keyOf(await rowsFlow.syncAfter(0))).not.toEqual(['id']);
  });
});

describe('a key of date and id', () => {
  it('loses the date at the next full scan that proves the id, and keeps the rows that the API has removed', async () => {
    const rows = (day: number) => (day < 6 ? rowsFrom(0, day) : move(rowsFrom(1, day), '1/2', 4));
    const rowsFlow = createRowsFlow({ rows }, dated);
    expect(keyOf(await rowsFlow.syncAfter(0))).toEqual(['date', 'id']);
    await rowsFlow.syncAfter(5);
    const report = await rowsFlow.syncAfter(1, { fullRefresh: true });
    expect(keyOf(report)).toEqual(['id']);
    expect(streamOf(report)).toMatchObject({ verdict: 'verified' });
    expect(eventsOf(rowsFlow.flow, 'note').map(({ message }) => message)).toContain(
      'learned the key (id): it is unique without date',
    );
    const [found] = await rowsFlow.flow.query(
      'SELECT count(*) AS n, count(DISTINCT id) AS ids FROM main.items',
    );
    expect(found).toEqual({ n: 7 * PER_DAY, ids: 7 * PER_DAY });
  });

  it.each([
    ['and the table has the same rows', 0],
    ['and a row of the table has left', 1],
  ])('loses the date in the scan that finds a text among its numbers, %s', async (_, first) => {
    const numbered = (from: number, day: number) => rowsFrom(from, day, (date, n) => date * PER_DAY + n);
    const rows = (day: number) =>
      day < 1
        ? numbered(0, 0)
        : [...numbered(0, day).slice(first), { id: 't10', date: dateOf(day), score: 10_000 }];
    const rowsFlow = createRowsFlow({ rows }, dated);
    expect(keyOf(await rowsFlow.syncAfter(0))).toEqual(['date', 'id']);
    const report = await rowsFlow.syncAfter(7, { fullRefresh: true });
    expect(keyOf(report)).toEqual(['id']);
    expect(streamOf(report)).toMatchObject({
      verdict: 'verified',
      rowsInTable: 8 * PER_DAY + 1,
      rows: { inserted: 7 * PER_DAY + 1, updated: 0, unchanged: PER_DAY - first },
    });
    expect(streamOf(await rowsFlow.syncAfter(0, { fullRefresh: true }))).toMatchObject({
      verdict: 'verified',
      rows: { inserted: 0, updated: 0 },
    });
  });

  it('stays where older rows, which the API has removed, had the same ids', async () => {
    const monthly = (first: number, day: number) => rowsFrom(first, day, (date, n) => `${date % 6}/${n}`);
    const rowsFlow = createRowsFlow({ rows: (day) => monthly(Math.max(0, day - 5), day) }, dated);
    expect(keyOf(await rowsFlow.syncAfter(0))).toEqual(['date', 'id']);
    for (let day = 1; day < 9; day += 1) await rowsFlow.syncAfter(1);
    const report = await rowsFlow.syncAfter(1, { fullRefresh: true });
    expect(keyOf(report)).toEqual(['date', 'id']);
    expect(streamOf(report)).toMatchObject({ verdict: 'verified', rowsInTable: 10 * PER_DAY });
  });
});

describe('an id that was unique over three days by chance', () => {
  // The first day's ids come again on the fourth one, long after the lookback.
  const api: RowsApi = {
    rows: (day) => [
      ...rowsFrom(-12, -9),
      ...rowsFrom(-2, 0),
      ...(day > 0 ? rowsFrom(day, day, (_, n) => `-12/${n}`) : []),
    ],
  };

  it('is found out by the count, and the same run brings back what was overwritten', async () => {
    const rowsFlow = createRowsFlow(api, dated);
    expect(keyOf(await rowsFlow.syncAfter(0))).toEqual(['id']);
    const report = await rowsFlow.syncAfter(1);
    expect(streamOf(report)).toMatchObject({ mode: 'full', verdict: 'verified' });
    expect(keyOf(report)).toEqual(['date', 'id']);
    await expectHeld(rowsFlow);
  });

  it('is found out right after a full scan as well', async () => {
    let isLater = false;
    const rowsFlow = createRowsFlow({ rows: (day) => api.rows(isLater ? Math.max(day, 1) : 0) }, dated);
    await rowsFlow.syncAfter(0);
    isLater = true;
    const report = await rowsFlow.syncAfter(0, { force: true });
    expect(streamOf(report)).toMatchObject({ mode: 'full', verdict: 'verified' });
    await expectHeld(rowsFlow);
  });

  it('is found out without a count as well: the next sync reads in full', async () => {
    const rowsFlow = createRowsFlow(api, { ...dated, audit: false });
    await rowsFlow.syncAfter(0);
    expect(streamOf(await rowsFlow.syncAfter(1)).mode).toBe('incremental');
    const [due] = await rowsFlow.flow.query('SELECT full_refresh_due AS due FROM _sluice.checkpoints');
    expect(due?.['due']).toMatch(/8 rows of earlier days returned with a different date/);
    expect(streamOf(await rowsFlow.syncAfter(1))).toMatchObject({ mode: 'full', verdict: 'verified' });
    expect(await rowsFlow.flow.query('SELECT count(*) AS n FROM main.items')).toEqual([
      { n: rowsFlow.held().length },
    ]);
  });

  it('is found out where earlier days are asked for by hand, and the record says so', async () => {
    const rowsFlow = createRowsFlow(api, { ...dated, audit: false });
    await rowsFlow.syncAfter(0);
    const report = await rowsFlow.syncAfter(1, { from: dateOf(-5) });
    expect(streamOf(report)).toMatchObject({ mode: 'incremental' });
    expect(streamOf(report).reasons.join()).toContain(
      '8 rows of earlier days returned with a different date',
    );
    expect(streamOf(await rowsFlow.syncAfter(1))).toMatchObject({ mode: 'full', verdict: 'verified' });
    await expectHeld(rowsFlow);
  });

  it('of a document is found out by the run itself', async () => {
    const rowsFlow = createRowsFlow(api, { ...dated, paginated: false });
    await rowsFlow.syncAfter(0);
    const report = await rowsFlow.syncAfter(1);
    expect(streamOf(report)).toMatchObject({ mode: 'full', verdict: 'verified' });
    expect(keyOf(report)).toEqual(['date', 'id']);
    await expectHeld(rowsFlow);
  });
});
