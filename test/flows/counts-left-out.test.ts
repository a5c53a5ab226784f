import { describe, expect, it } from 'vitest';
import { expectSame, keyed, rowsOf } from '../support/daily-rows.ts';
import { createRowsFlow, dateOf, type Row } from '../support/rows-api.ts';
import { streamOf } from '../support/sync-harness.ts';

describe('a row that the start date leaves out though the API has it', () => {
  /** The API filters by the day a row was created, which is not in its date any more. */
  const moved: Row = { id: '-19/3', date: dateOf(1), score: 99 };
  const api = {
    rows: (day: number) =>
      day < 2 ? rowsOf(day) : rowsOf(day).map((row) => (row['id'] === '-19/3' ? moved : row)),
    isAsked: (row: Row, startDate: string) => String(row['date']) >= startDate && row['id'] !== '-19/3',
  };

  it.each(['soft', 'hard'] as const)('stays with deletes: %s', async (deletes) => {
    const rowsFlow = createRowsFlow(api, { ...keyed, deletes });
    await rowsFlow.syncAfter(0);
    await rowsFlow.syncAfter(1);
    // A full scan brings it with its new date, which is among the days of the next incremental one.
    await rowsFlow.syncAfter(1, { fullRefresh: true });
    // As many rows could be missing elsewhere: reading in full tells.
    const report = streamOf(await rowsFlow.syncAfter(1));
    expect(report).toMatchObject({ mode: 'full', verdict: 'verified', rows: { deleted: 0 } });
    await expectSame(rowsFlow);
    // Once a day, and not again an hour later.
    const later = streamOf(await rowsFlow.syncAfter(0.05, { force: true }));
    expect(later).toMatchObject({ mode: 'incremental', rows: { deleted: 0 }, difference: 1 });
    expect(later.reasons.join()).toContain('1 row of the days just read went missing, but the API counts');
    await expectSame(rowsFlow);
  });

  it('without a key is read in full', async () => {
    const rowsFlow = createRowsFlow(
      {
        ...api,
        rows: (day) =>
          api.rows(day).map(({ id, ...row }) => ({ ...row, id: undefined, mark: id === '-19/3' ? 1 : 0 })),
        isAsked: (row, startDate) => String(row['date']) >= startDate && row['mark'] !== 1,
      },
      { cursor: { field: 'date', param: 'startDate' } },
    );
    await rowsFlow.syncAfter(0);
    await rowsFlow.syncAfter(1);
    await rowsFlow.syncAfter(1, { fullRefresh: true });
    expect(streamOf(await rowsFlow.syncAfter(1))).toMatchObject({ status: 'complete', mode: 'full' });
    await expectSame(rowsFlow);
  });
});
