import { expect } from 'vitest';
import { dateOf, type Row, type RowsFlow } from './rows-api.ts';

export const PER_DAY = 6;
export const FIRST_DAY = -20;
export const keyed = { key: ['id'], cursor: { field: 'date', param: 'startDate' } };

/** Some rows a day, from twenty days before the first sync to the day that it is. */
export function rowsOf(day: number): readonly Row[] {
  return Array.from({ length: day - FIRST_DAY + 1 }, (_, at) => FIRST_DAY + at).flatMap((date) =>
    Array.from({ length: PER_DAY }, (_, n) => ({
      id: `${date}/${n}`,
      date: dateOf(date),
      score: date + n / 8,
    })),
  );
}

/** The table has as many rows as the API, and their scores. */
export async function expectSame(rowsFlow: RowsFlow): Promise<void> {
  const found = await rowsFlow.flow.query('SELECT count(*) AS n, sum(score) AS sum FROM main.items');
  const held = rowsFlow.held();
  expect(found).toEqual([{ n: held.length, sum: held.reduce((sum, row) => sum + Number(row['score']), 0) }]);
}
