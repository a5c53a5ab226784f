import type { ColumnPlan } from '../schema/resolve-columns.ts';
import type { Database } from './database.ts';
import { ATTACHED } from './database-options.ts';
import { defineColumn } from './define-column.ts';
import { readColumnsOf, tableName } from './evolve-table.ts';
import { FIRST } from './first-table.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';

/**
 * The rows of a scan before they are merged. Stream names cannot contain `~`, so the name hides no stream's table. For
 * a long first scan it is a view of `FIRST`.
 */
export const INCOMING = 'temp."~incoming"';

/** Smaller scans are loaded quickly after they end, bytes. */
export const LONG_BYTES = 16 * 2 ** 20;

/** Rows of this many columns need more memory to be written to the file than is given while pages are fetched. */
const MOST_COLUMNS = 200;

/** Databases that may have such a table, so that the others need not be asked. */
const withFirst = new WeakSet<Database>();

/** Where the rows of a scan are before they are merged. */
export type IncomingPlace = 'temporary' | 'file';

/** Creates `INCOMING` with the rows of a query: `_sluice_position` and the columns. */
export async function createIncoming(
  database: Database,
  query: string,
  columns: readonly ColumnPlan[],
  place: IncomingPlace = 'temporary',
): Promise<void> {
  // Dropped first: replacing it would hold the rows of two streams in memory at once.
  await dropIncoming(database);
  if (place === 'temporary' || columns.length > MOST_COLUMNS) {
    await database.run(`CREATE TEMP TABLE "~incoming" AS ${query}`);
    return;
  }
  withFirst.add(database);
  const definitions = columns.map(defineColumn);
  await database.run(`CREATE TABLE ${FIRST} (${['_sluice_position BIGINT', ...definitions].join(', ')})`);
  await database.run(`CREATE TEMP VIEW "~incoming" AS FROM ${ATTACHED}.${FIRST}`);
  await database.run(`INSERT INTO ${FIRST} BY NAME ${query}`);
}

/** Adds the rows of a query to `INCOMING`, by column name. */
export async function appendIncoming(database: Database, query: string): Promise<void> {
  const table = (await isInFile(database)) ? FIRST : INCOMING;
  await database.run(`INSERT INTO ${table} BY NAME ${query}`);
}

/** Removes rows of `INCOMING`, which the condition calls `s`. */
export async function deleteIncoming(database: Database, where: string): Promise<void> {
  // Only a table without deleted rows becomes another one.
  if (await isInFile(database)) {
    await database.run(`DROP VIEW ${INCOMING}`);
    await database.run(`CREATE TEMP TABLE "~incoming" AS FROM ${FIRST}`);
    await dropFirstTable(database);
  }
  await database.run(`DELETE FROM ${INCOMING} s WHERE ${where}`);
}

/** Removes `INCOMING` and its rows; those that became a stream's table stay. */
export async function dropIncoming(database: Database): Promise<void> {
  const kind = (await isInFile(database)) ? 'VIEW' : 'TABLE';
  await database.run(`DROP ${kind} IF EXISTS ${INCOMING}`);
  if (!withFirst.has(database)) return;
  await dropFirstTable(database);
  withFirst.delete(database);
}

async function dropFirstTable(database: Database): Promise<void> {
  await database.run(`DROP TABLE IF EXISTS ${FIRST}`);
  // Otherwise the rows that follow would make the file, and what is published of it, larger.
  await database.freeBlocks();
}

/** Removes `INCOMING` where its rows are in the file: call it before the file is published. */
export async function dropFirst(database: Database): Promise<void> {
  if (withFirst.has(database)) await dropIncoming(database);
}

/** What our own columns hold in rows that become a table. */
export interface OwnValues {
  readonly runId: string;
  /** ISO time. */
  readonly syncedAt: string;
}

/**
 * Makes the incoming rows those of an empty table without copying them, if they are in the file and have its columns in
 * its order; false if not. Call inside the transaction that created the table. Afterwards `INCOMING` cannot be read.
 */
export async function becomeTable(database: Database, table: string, values: OwnValues): Promise<boolean> {
  if (!(await isInFile(database))) return false;
  const wanted = await readColumnsOf(database, tableName(table));
  const rows = await readColumnsOf(database, FIRST);
  const additions = listAdditions(
    [...wanted.keys()].filter((name) => !rows.has(name)),
    values,
  );
  const kept = [...rows].filter(([name]) => wanted.has(name));
  const others = [...rows.keys()].filter((name) => !wanted.has(name));
  if (additions === undefined || !isStart(kept, [...wanted])) return false;
  if ((await database.count(`SELECT count(*) FROM ${tableName(table)}`)) > 0) return false;
  const alter = (change: string) => database.run(`ALTER TABLE ${FIRST} ${change}`);
  await database.run(`DROP TABLE ${tableName(table)}`);
  for (const name of others) await alter(`DROP COLUMN ${quoteIdentifier(name)}`);
  for (const addition of additions) await alter(addition);
  await alter(`RENAME TO ${quoteIdentifier(table)}`);
  return true;
}

/** How our own columns are added with their values; undefined if one of them is not known. */
function listAdditions(
  names: readonly string[],
  { runId, syncedAt }: OwnValues,
): readonly string[] | undefined {
  const additions: string[] = [];
  for (const name of names) {
    if (name === '_run_id') additions.push(`ADD COLUMN _run_id VARCHAR DEFAULT ${quoteLiteral(runId)}`);
    else if (name === '_synced_at')
      // A cast as the default would make the engine change a setting, which is locked.
      additions.push(`ADD COLUMN _synced_at TIMESTAMPTZ DEFAULT ${quoteLiteral(syncedAt)}`);
    else if (name === '_deleted_at') additions.push('ADD COLUMN _deleted_at TIMESTAMPTZ');
    else return undefined;
    if (name !== '_deleted_at') additions.push(`ALTER COLUMN ${name} DROP DEFAULT`);
  }
  return additions;
}

type Column = readonly [name: string, type: string];

function isStart(columns: readonly Column[], all: readonly Column[]): boolean {
  return columns.every(([name, type], at) => all[at]?.[0] === name && all[at][1] === type);
}

/** Whether `INCOMING` is a view of `FIRST`. */
async function isInFile(database: Database): Promise<boolean> {
  if (!withFirst.has(database)) return false;
  const views = `SELECT count(*) FROM duckdb_views() WHERE database_name = 'temp' AND view_name = '~incoming'`;
  return (await database.count(views)) > 0;
}
