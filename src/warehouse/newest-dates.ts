import { toDay } from './count-days.ts';
import { toIso } from '../model/sql.ts';
import type { Database } from './database.ts';
import { readColumns, tableName } from './evolve-table.ts';
import { quoteLiteral } from './identifiers.ts';
import { readScope } from './live-rows.ts';

/** The latest dates of a column, newest first, and when the first row of the newest date was synced (ISO time). */
export interface NewestDates {
  readonly dates: readonly string[];
  readonly since: string;
}

/** Where to look for the dates. */
export interface NewestDatesOptions {
  readonly column: string;
  /** ISO date: rows with later dates are ignored. */
  readonly upTo: string;
  /** Of each slice. */
  readonly most: number;
}

/** The latest dates of a table by slice (`''` for a table without slices); live rows only. */
export async function readNewestDates(
  database: Database,
  table: string,
  { column, upTo, most }: NewestDatesOptions,
): Promise<ReadonlyMap<string, NewestDates>> {
  const columns = await readColumns(database, table);
  const type = columns.get(column);
  if (type === undefined) return new Map();
  const { live, isSliced } = await readScope(database, table, '');
  const rows = await database.all(
    // Twice as fast as a window over the dates of each slice.
    `SELECT slice, max(day, ${Math.trunc(most)})::VARCHAR[] AS dates, arg_max(since, day) AS since
       FROM (SELECT ${isSliced ? "coalesce(t._slice, '')" : "''"} AS slice, ${toDay(column, type)} AS day, min(t._synced_at) AS since
               FROM ${tableName(table)} t WHERE ${live} AND day <= ${quoteLiteral(upTo)}::DATE GROUP BY 1, 2)
      GROUP BY slice`,
  );
  return new Map(
    rows.map((row) => [
      String(row['slice']),
      {
        dates: row['dates'] as readonly string[],
        since: toIso(row['since']),
      },
    ]),
  );
}
