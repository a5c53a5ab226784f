import type { Database } from './database.ts';
import { toDay } from './count-days.ts';
import { readColumns, tableName } from './evolve-table.ts';
import { quoteLiteral } from './identifiers.ts';
import { readScope } from './live-rows.ts';

/** The live rows of a table, or of a slice of it, by the days of a column. */
export interface DatedRows {
  readonly database: Database;
  readonly table: string;
  readonly slice: string;
  readonly column: string;
}

/** How many rows have a day before one (ISO). */
export async function countBefore({ database, ...rows }: DatedRows, date: string): Promise<number> {
  const { day, from } = await selectDays({ database, ...rows });
  return database.count(`SELECT count(*) FROM ${from} AND ${day} < ${quoteLiteral(date)}::DATE`);
}

/** How many rows have a day from one (ISO) on. */
export async function countSince({ database, ...rows }: DatedRows, date: string): Promise<number> {
  const { day, from } = await selectDays({ database, ...rows });
  return database.count(`SELECT count(*) FROM ${from} AND ${day} >= ${quoteLiteral(date)}::DATE`);
}

/** How many rows have a day from one (ISO) on, and before another. */
export async function countBetween(
  { database, ...rows }: DatedRows,
  date: string,
  end: string,
): Promise<number> {
  const { day, from } = await selectDays({ database, ...rows });
  return database.count(
    `SELECT count(*) FROM ${from} AND ${day} >= ${quoteLiteral(date)}::DATE AND ${day} < ${quoteLiteral(end)}::DATE`,
  );
}

/** The day (ISO) of the nth oldest row from a day on, and before another; undefined if there are fewer rows. */
export async function findDay(
  { database, ...rows }: DatedRows,
  date: string,
  end: string,
  nth: number,
): Promise<string | undefined> {
  const { day, from } = await selectDays({ database, ...rows });
  const [row] = await database.all(
    `SELECT CAST(${day} AS VARCHAR) AS day FROM ${from}
       AND ${day} >= ${quoteLiteral(date)}::DATE AND ${day} < ${quoteLiteral(end)}::DATE
       ORDER BY ${day} LIMIT 1 OFFSET ${nth - 1}`,
  );
  return row === undefined ? undefined : String(row['day']);
}

async function selectDays({ database, table, slice, column }: DatedRows) {
  const { own, live } = await readScope(database, table, slice);
  const type = (await readColumns(database, table)).get(column) ?? '';
  return { day: toDay(column, type), from: `${tableName(table)} t WHERE ${own} AND ${live}` };
}
