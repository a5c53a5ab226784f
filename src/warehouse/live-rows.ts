import type { ColumnType } from '../model/schema.ts';
import type { Database } from './database.ts';
import { readColumns, tableName } from './evolve-table.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';

/** Conditions on a table `t`, for the scan of one slice or of a whole stream (slice `''`). */
export interface RowScope {
  /** Rows that the scan may count and delete. */
  readonly own: string;
  /** Rows that it may match: its own, and those from before the stream was sliced. */
  readonly reach: string;
  /** Rows that already have its slice. */
  readonly placed: string;
  /** Rows that are not soft-deleted. */
  readonly live: string;
  readonly isSliced: boolean;
  readonly isMarkable: boolean;
}

/** Finds the rows of a table that a scan applies to. */
export async function readScope(database: Database, table: string, slice: string): Promise<RowScope> {
  const columns = await readColumns(database, table);
  const isSliced = columns.has('_slice');
  const isMarkable = columns.has('_deleted_at');
  const live = isMarkable ? 't._deleted_at IS NULL' : 'true';
  if (slice === '') {
    const placed = isSliced ? 't._slice IS NULL' : 'true';
    return { own: 'true', reach: 'true', placed, live, isSliced, isMarkable };
  }
  // A table from before the stream was sliced: none of its rows has a slice yet.
  if (!isSliced) return { own: 'false', reach: 'true', placed: 'false', live, isSliced, isMarkable };
  const placed = isOfSlice('t', slice);
  return { own: placed, reach: `(${placed} OR t._slice IS NULL)`, placed, live, isSliced, isMarkable };
}

/**
 * Condition for the rows of `alias` that belong to one slice; false for rows of none. The engine (DuckDB 1.5.5) loses
 * row groups without a value where `IS [NOT] DISTINCT FROM` a constant is in an `OR`.
 */
export function isOfSlice(alias: string, slice: string): string {
  return `(${alias}._slice IS NOT NULL AND ${alias}._slice = ${quoteLiteral(slice)})`;
}

/** Number of live rows of a table, or of one slice of it. */
export async function countLiveRows(database: Database, table: string, slice: string): Promise<number> {
  const { own, live } = await readScope(database, table, slice);
  return database.count(`SELECT count(*) FROM ${tableName(table)} t WHERE ${own} AND ${live}`);
}

/** The rows of a table from a date of its cursor on. */
export interface CursorWindow {
  readonly column: string;
  readonly type: ColumnType;
  /** ISO date. */
  readonly date: string;
}

/** The day of a cursor, which may be a text with some values that are not dates; NULL for those. */
export function dayOf(alias: string, column: string): string {
  return `TRY_CAST(left(CAST(${alias}.${quoteIdentifier(column)} AS VARCHAR), 10) AS DATE)`;
}

/** Condition for the rows of `alias` in a window; not true for rows whose cursor is not a date. */
export function isInWindow(alias: string, { column, type, date }: CursorWindow): string {
  const name = `${alias}.${quoteIdentifier(column)}`;
  // Compared in their stored type, so that row groups outside the window are skipped.
  if (type === 'DATE') return `${name} >= ${quoteLiteral(date)}::DATE`;
  if (type === 'TIMESTAMP') return `${name} >= ${quoteLiteral(`${date} 00:00:00`)}::TIMESTAMP`;
  if (type === 'TIMESTAMPTZ') return `${name} >= ${quoteLiteral(`${date} 00:00:00+00`)}::TIMESTAMPTZ`;
  return `${dayOf(alias, column)} >= ${quoteLiteral(date)}::DATE`;
}
