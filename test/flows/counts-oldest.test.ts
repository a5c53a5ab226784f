import { describe, expect, it } from 'vitest';
import { createRowsFlow, dateOf, type Row } from '../support/rows-api.ts';
import { streamOf } from '../support/sync-harness.ts';

// With `deletes: keep`, the oldest rows leave the API and stay in the table. A row that comes late meanwhile is missing,
// and the total alone may hide it.

const PER_DAY = 4;
const FIRST_DAY = -20;
const EMPTY_DAY = -8;
const keyed = { key: ['id'], cursor: { field: 'date', param: 'startDate' } } as const;

const rowsOf = (day: number): readonly Row[] =>
  Array.from({ length: day - FIRST_DAY + 1 }, (_, at) => FIRST_DAY + at)
    .filter((date) => date !== EMPTY_DAY)
    .flatMap((date) =>
      Array.from({ length: PER_DAY }, (_, n) => ({
        id: `${date}/${n}`,
        date: dateOf(date),
        score: date + n / 8,
      })),
    );

/** The oldest rows leave on the third day, and others come late for some day. */
function createRetentionFlow(left: number, late: number, lateDay: number, isExclusive = false) {
  const extra = Array.from({ length: late }, (_, n) => ({
    id: `late/${n}`,
    date: dateOf(lateDay),
    score: n / 2,
  }));
  return createRowsFlow(
    {
      rows: (day) => (day < 2 ? rowsOf(day) : [...extra, ...rowsOf(day).slice(left)]),
      ...(isExclusive && { isAsked: (row: Row, from: string) => String(row['date']) > from }),
    },
    { ...keyed, pageSize: 5 },
  );
}

const narrow = { force: true, maxRequests: 20 } as const;

describe.each([
  ['with', false],
  ['without', true],
] as const)('where a start date asks for the rows %s its own day', (_, isExclusive) => {
  it.each([
    [12, 4, EMPTY_DAY],
    [12, 4, FIRST_DAY + 5],
    [12, 4, FIRST_DAY],
    [12, 4, FIRST_DAY + 1],
    [20, 12, EMPTY_DAY],
    [20, 4, EMPTY_DAY],
    [8, 4, EMPTY_DAY],
    [12, 5, EMPTY_DAY],
    [13, 4, EMPTY_DAY],
    [6, 1, FIRST_DAY],
    [3, 1, EMPTY_DAY],
    [4, 3, EMPTY_DAY],
  ])('%i oldest rows that left do not hide %i late ones of day %i', async (left, late, lateDay) => {
    const api = createRetentionFlow(left, late, lateDay, isExclusive);
    await api.syncAfter(0);
    expect(streamOf(await api.syncAfter(1))).toMatchObject({ mode: 'incremental', difference: 0 });
    const report = await api.syncAfter(1, narrow);
    expect(streamOf(report)).toMatchObject({ mode: 'incremental', difference: late - left });
    expect(report.warnings).toHaveLength(1);
    expect(streamOf(await api.syncAfter(1))).toMatchObject({ mode: 'full', verdict: 'verified' });
    const rows = await api.flow.query(`SELECT count(*)::INTEGER AS n FROM main.items WHERE id LIKE 'late/%'`);
    expect(rows).toEqual([{ n: late }]);
  });

  it.each([4, 8, 12, 3, 6, 13])('%i oldest rows that left differ in nothing', async (left) => {
    const api = createRetentionFlow(left, 0, 0, isExclusive);
    await api.syncAfter(0);
    await api.syncAfter(1);
    const report = await api.syncAfter(1, narrow);
    expect(report.warnings).toEqual([]);
    expect(streamOf(report)).toMatchObject({ mode: 'incremental', difference: 0 });
    expect(streamOf(report).reasons.join()).toContain(`${left} older rows of the table are no longer`);
  });
});

describe('a record of the oldest day that is in no row', () => {
  const oldest: Row = { id: `${FIRST_DAY}/0`, date: dateOf(FIRST_DAY), score: FIRST_DAY };

  it.each([
    ['in quarantine', { ...oldest, id: null }],
    ['with a repeated key', { ...oldest, score: 0.5 }],
    ['without a day', { ...oldest, id: null, date: null }],
  ])('does not hide a late one when it leaves: %s', async (_, record) => {
    const lateRow = { id: 'late', date: dateOf(FIRST_DAY + 5), score: 0.1 };
    const api = createRowsFlow(
      { rows: (day) => (day < 2 ? [record, ...rowsOf(day)] : [lateRow, ...rowsOf(day).slice(7)]) },
      { ...keyed, pageSize: 5, maxInvalidRatio: 0.5 },
    );
    await api.syncAfter(0);
    expect(streamOf(await api.syncAfter(1))).toMatchObject({ mode: 'incremental', difference: 0 });
    expect(streamOf(await api.syncAfter(1, narrow))).toMatchObject({ mode: 'incremental', difference: -7 });
    expect(streamOf(await api.syncAfter(1))).toMatchObject({ mode: 'full' });
    const rows = await api.flow.query(`SELECT id FROM main.items WHERE id = 'late'`);
    expect(rows).toEqual([{ id: 'late' }]);
  });

  it('changes nothing while it is newer than the rows that left', async () => {
    const record = { id: null, date: dateOf(0), score: 1 };
    const api = createRowsFlow(
      { rows: (day) => [record, ...rowsOf(day).slice(day < 2 ? 0 : 8)] },
      { ...keyed, pageSize: 5, maxInvalidRatio: 0.5 },
    );
    await api.syncAfter(0);
    await api.syncAfter(1);
    const report = streamOf(await api.syncAfter(1, narrow));
    expect(report).toMatchObject({ mode: 'incremental', difference: 0 });
    expect(report.reasons.join()).toContain('8 older rows of the table are no longer');
  });
});
