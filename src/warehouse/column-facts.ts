import type { Database } from './database.ts';
import { tableName } from './evolve-table.ts';
import { quoteIdentifier } from './identifiers.ts';
import { readScope } from './live-rows.ts';

// Wide tables are counted in parts, as each count takes engine memory.
const COLUMNS_AT_ONCE = 200;

/** Number of rows of a table and of values in each column, without soft-deleted rows. */
export async function countFilled(
  database: Database,
  table: string,
  columns: readonly string[],
): Promise<{ readonly rows: number; readonly filled: ReadonlyMap<string, number> }> {
  const { live } = await readScope(database, table, '');
  const from = `FROM ${tableName(table)} t WHERE ${live}`;
  const rows = await database.count(`SELECT count(*) ${from}`);
  const filled = new Map<string, number>();
  for (let at = 0; at < columns.length; at += COLUMNS_AT_ONCE) {
    const names = columns.slice(at, at + COLUMNS_AT_ONCE);
    const counts = names.map((name, i) => `count(${quoteIdentifier(name)}) AS c${i}`).join(', ');
    const [row = {}] = await database.all(`SELECT ${counts} ${from}`);
    for (const [i, name] of names.entries()) filled.set(name, Number(row[`c${i}`]));
  }
  return { rows, filled };
}

// Longer lists, or values that hardly repeat, are not an enumeration.
const MOST_VALUES = 20;
const LEAST_REPEATS = 5;

/** The sorted values of a text column if they are few and repeat often; else undefined. */
export async function listFewValues(
  database: Database,
  table: string,
  column: string,
): Promise<readonly string[] | undefined> {
  const { live } = await readScope(database, table, '');
  const name = quoteIdentifier(column);
  const rows = await database.all(
    `SELECT ${name} AS v, count(*) AS n FROM ${tableName(table)} t WHERE ${live} AND ${name} IS NOT NULL
       GROUP BY 1 ORDER BY 1 LIMIT ${MOST_VALUES + 1}`,
  );
  const total = rows.reduce((sum, row) => sum + Number(row['n']), 0);
  const isFew = rows.length > 0 && rows.length <= MOST_VALUES && total >= rows.length * LEAST_REPEATS;
  return isFew ? rows.map((row) => String(row['v'])) : undefined;
}

/** Each is a scan of its own, in one statement. */
const SCANS_AT_ONCE = 50;

/**
 * The columns of a table in which a row has no value. Each is asked for one such row: the engine knows from its
 * statistics where there can be none, but reads every row of a table with rows that are not committed.
 */
export function findColumnsWithNulls(
  database: Database,
  table: string,
  columns: readonly string[],
): Promise<ReadonlySet<string>> {
  return findNulls(database, tableName(table), columns);
}

/** The same for a table whose name is already SQL. */
export async function findNulls(
  database: Database,
  from: string,
  columns: readonly string[],
): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (let at = 0; at < columns.length; at += SCANS_AT_ONCE) {
    const some = columns.slice(at, at + SCANS_AT_ONCE);
    const firsts = some.map(
      (column, i) => `(SELECT ${i} AS i FROM ${from} WHERE ${quoteIdentifier(column)} IS NULL LIMIT 1)`,
    );
    const rows = await database.all(firsts.join(' UNION ALL '));
    for (const row of rows) found.add(some[Number(row['i'])] as string);
  }
  return found;
}
