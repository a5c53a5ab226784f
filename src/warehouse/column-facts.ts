import type { Database } from './database.ts';
import { tableName } from './evolve-table.ts';
import { quoteIdentifier } from './identifiers.ts';
import { readScope } from './live-rows.ts';

// Wide tables are counted a part at a time: each count costs the engine memory.
const COLUMNS_AT_ONCE = 200;

/** Rows of a table, and how many of them have a value in each column; rows deleted softly do not count. */
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

// More than this, or values that hardly repeat, are no list that anybody keeps.
const MOST_VALUES = 20;
const LEAST_REPEATS = 5;

/** The values of a text column, in their order, where they are few and come again and again; else undefined. */
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
