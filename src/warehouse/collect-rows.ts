import type { QueryCell, QueryResult } from '../model/reports.ts';
import type { TakeRows } from '../model/take-rows.ts';

/** Takes the rows of a query and keeps the first ones, at most `maxRows`. */
export function collectRows(maxRows: number): {
  readonly take: TakeRows;
  readonly collected: () => QueryResult;
} {
  let columns: QueryResult['columns'] = [];
  const rows: (readonly QueryCell[])[] = [];
  return {
    take(portion) {
      ({ columns } = portion);
      for (const row of portion.rows) if (rows.length < maxRows) rows.push(row);
      return Promise.resolve(rows.length < maxRows);
    },
    collected: () => ({ columns, rows }),
  };
}
