import type { Database } from './database.ts';
import { tableName } from './evolve-table.ts';
import { type CursorWindow, dayOf, isInWindow, readScope } from './live-rows.ts';
import { INCOMING } from './incoming.ts';

/** Number of rows of a table or slice in a window, and how many of them are missing from the incoming rows. */
export interface MissingRows {
  readonly held: number;
  readonly missing: number;
}

/**
 * Compares the incoming rows with those of a window, per day. Only counts are compared: without a key, a restated row
 * cannot be recognised.
 */
export async function countMissingRows(
  database: Database,
  table: string,
  slice: string,
  window: CursorWindow,
): Promise<MissingRows> {
  const { own, live } = await readScope(database, table, slice);
  const day = (alias: string) => dayOf(alias, window.column);
  const [row] = await database.all(`SELECT
      coalesce(sum(held.n), 0) AS held,
      coalesce(sum(greatest(held.n - coalesce(came.n, 0), 0)), 0) AS missing
    FROM (SELECT ${day('t')} AS day, count(*) AS n FROM ${tableName(table)} t
      WHERE ${own} AND ${live} AND ${isInWindow('t', window)} GROUP BY 1) held
    LEFT JOIN (SELECT ${day('s')} AS day, count(*) AS n FROM ${INCOMING} s GROUP BY 1) came USING (day)`);
  return { held: Number(row?.['held'] ?? 0), missing: Number(row?.['missing'] ?? 0) };
}
