import type { ColumnPlan } from '../schema/resolve-columns.ts';
import type { Database } from './database.ts';
import { readColumns, tableName } from './evolve-table.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';
import { readScope } from './live-rows.ts';
import { INCOMING } from './incoming.ts';
import { matchColumns } from './row-equality.ts';

/** Incoming rows that other slices of the table also have. */
export interface SharedRows {
  /** Incoming rows that were compared. */
  readonly looked: number;
  /** Of these, rows that another slice has. */
  readonly shared: number;
  /** Whether most rows of some other slice are among them. */
  readonly holdsMost: boolean;
  /** Incoming rows of days that were read before, which another slice has and this one did not. */
  readonly newcomers: number;
}

// Enough to recognise another slice's rows; a first scan is compared as a whole.
const SAMPLE_ROWS = 1_000;

/** Which incoming rows are compared, and where. */
interface SharedQuestion {
  readonly table: string;
  /** The slice that was read. */
  readonly slice: string;
  /** Columns in which rows must be equal: all that records fill, or a key. */
  readonly columns: readonly ColumnPlan[];
  /** All incoming rows; otherwise enough to recognise another slice's. */
  readonly isWhole: boolean;
  /** The days that were read before: those before a date (ISO) in a column. */
  readonly readBefore?: { readonly column: string; readonly date: string } | undefined;
}

/** Counts incoming rows that equal a row of another slice in the given columns. */
export async function countSharedRows(
  database: Database,
  { table, slice, columns, isWhole, readBefore }: SharedQuestion,
): Promise<SharedRows> {
  const none = { looked: 0, shared: 0, holdsMost: false, newcomers: 0 };
  const stored = await readColumns(database, table);
  const compared = columns.filter(
    ({ name, type, existingType }) => stored.has(name) && existingType === type,
  );
  if (!stored.has('_slice') || compared.length === 0) return none;
  const { live } = await readScope(database, table, slice);
  const limit = isWhole ? '' : `ORDER BY _sluice_position LIMIT ${SAMPLE_ROWS}`;
  const source = `(SELECT * FROM ${INCOMING} ${limit})`;
  const others = `t._slice IS NOT NULL AND t._slice <> ${quoteLiteral(slice)} AND ${live}`;
  const match = await matchColumns(
    database,
    source,
    compared.map(({ name }) => name),
  );
  const looked = await database.count(`SELECT count(*) FROM ${source}`);
  const groups = await database.all(
    `SELECT t._slice AS slice, count(DISTINCT t.rowid) AS n FROM ${source} s JOIN ${tableName(table)} t ON ${match}
       WHERE ${others} GROUP BY 1`,
  );
  if (groups.length === 0) return { ...none, looked };
  const shared = await database.count(
    `SELECT count(DISTINCT s._sluice_position) FROM ${source} s JOIN ${tableName(table)} t ON ${match} WHERE ${others}`,
  );
  const sizes = await database.all(
    `SELECT t._slice AS slice, count(*) AS n FROM ${tableName(table)} t WHERE ${others} GROUP BY 1`,
  );
  const sizeOf = new Map(sizes.map(({ slice: name, n }) => [name, Number(n)]));
  const holdsMost = groups.some(({ slice: name, n }) => Number(n) * 2 >= (sizeOf.get(name) ?? Infinity));
  const newcomers =
    readBefore === undefined || !stored.has(readBefore.column)
      ? 0
      : await database.count(
          `SELECT count(DISTINCT s._sluice_position) FROM ${source} s JOIN ${tableName(table)} t ON ${match}
             WHERE ${others} AND ${isBefore(readBefore)} AND s._sluice_position NOT IN (
               SELECT s._sluice_position FROM ${source} s JOIN ${tableName(table)} t ON ${match}
                 WHERE t._slice = ${quoteLiteral(slice)} AND ${live})`,
        );
  return { looked, shared, holdsMost, newcomers };
}

function isBefore({ column, date }: NonNullable<SharedQuestion['readBefore']>): string {
  return `TRY_CAST(s.${quoteIdentifier(column)} AS DATE) < DATE ${quoteLiteral(date)}`;
}
