import type { ColumnPlan } from '../schema/resolve-columns.ts';
import { quoteIdentifier } from '../warehouse/identifiers.ts';
import { INCOMING } from '../warehouse/project-stage.ts';
import type { Loading } from '../run/run-context.ts';
import type { PreparedLoad } from '../run/scan.ts';

/** The newest and the oldest day of the incoming rows, by the cursor's column; undefined where it holds none. */
export async function readCursorRange(
  { database }: Loading,
  columns: readonly ColumnPlan[],
  cursor: string | undefined,
): Promise<Pick<PreparedLoad, 'newestCursor' | 'oldestCursor' | 'dateless'>> {
  const column = columns.find(({ name }) => name === cursor);
  if (column === undefined || !['DATE', 'TIMESTAMP', 'TIMESTAMPTZ', 'VARCHAR'].includes(column.type)) {
    return { newestCursor: undefined, oldestCursor: undefined, dateless: undefined };
  }
  // A configured cursor may be a text column with some values that are not dates.
  const date = `TRY_CAST(${column.type === 'VARCHAR' ? `left(${quoteIdentifier(column.name)}, 10)` : quoteIdentifier(column.name)} AS DATE)`;
  // Dates are compared as text from here on, and sort as such within four-digit years only.
  const bounded = (value: string) =>
    `if(${value} IS NULL, NULL, CAST(greatest(DATE '0001-01-01', least(DATE '9999-12-31', ${value})) AS VARCHAR))`;
  const [row] = await database.all(
    `SELECT ${bounded(`max(${date})`)} AS newest, ${bounded(`min(${date})`)} AS oldest,
       count(*) FILTER (${date} IS NULL) AS dateless FROM ${INCOMING}`,
  );
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  return {
    newestCursor: text(row?.['newest']),
    oldestCursor: text(row?.['oldest']),
    dateless: Number(row?.['dateless'] ?? 0),
  };
}
