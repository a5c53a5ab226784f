import type { ColumnType } from '../model/schema.ts';
import type { Database } from './database.ts';
import { readColumns, tableName } from './evolve-table.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';

/** Conditions over a table `t`, for the scan of one slice or of a whole stream (slice `''`). */
export interface RowScope {
  /** Rows that are the scan's to count and to delete. */
  readonly own: string;
  /** Rows it may match: its own, and those from before the stream was cut into slices. */
  readonly reach: string;
  /** Rows that already carry its slice. */
  readonly placed: string;
  /** Rows that were not deleted softly. */
  readonly live: string;
  readonly isSliced: boolean;
  readonly isMarkable: boolean;
}

/** Reads which rows of a table a scan is about. */
export async function readScope(database: Database, table: string, slice: string): Promise<RowScope> {
  const columns = await readColumns(database, table);
  const isSliced = columns.has('_slice');
  const isMarkable = columns.has('_deleted_at');
  const live = isMarkable ? 't._deleted_at IS NULL' : 'true';
  if (slice === '') {
    const placed = isSliced ? 't._slice IS NULL' : 'true';
    return { own: 'true', reach: 'true', placed, live, isSliced, isMarkable };
  }
  // A table from before the slices: none of its rows is a slice's yet.
  if (!isSliced) return { own: 'false', reach: 'true', placed: 'false', live, isSliced, isMarkable };
  const placed = `t._slice IS NOT DISTINCT FROM ${quoteLiteral(slice)}`;
  return { own: placed, reach: `(${placed} OR t._slice IS NULL)`, placed, live, isSliced, isMarkable };
}

/** Rows of a table, or of one slice of it, that were not deleted. */
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

/** Condition for the rows of `alias` that are in a window; not true of rows whose cursor is no date. */
export function isInWindow(alias: string, { column, type, date }: CursorWindow): string {
  const name = `${alias}.${quoteIdentifier(column)}`;
  // Compared as they are stored, row groups outside the window are not even read.
  if (type === 'DATE') return `${name} >= ${quoteLiteral(date)}::DATE`;
  if (type === 'TIMESTAMP') return `${name} >= ${quoteLiteral(`${date} 00:00:00`)}::TIMESTAMP`;
  if (type === 'TIMESTAMPTZ') return `${name} >= ${quoteLiteral(`${date} 00:00:00+00`)}::TIMESTAMPTZ`;
  // A configured cursor may be text that only mostly holds dates.
  return `TRY_CAST(left(CAST(${name} AS VARCHAR), 10) AS DATE) >= ${quoteLiteral(date)}::DATE`;
}
