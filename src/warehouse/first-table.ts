import type { SqlSession } from '../model/sql.ts';

const FIRST_NAME = '~first';

/** A table of the file with the rows of a first scan: it becomes the stream's table, so that they are written once. */
export const FIRST = `main."${FIRST_NAME}"`;

/** SQL for lists of tables: a killed process may leave it to who only reads the file. */
export const NOT_FIRST = `table_name <> '${FIRST_NAME}'`;

/**
 * Removes what a process left in the attached file if it ended before the commit of its first scan. Returns how many
 * columns the widest table has.
 */
export async function dropLeftFirst(session: SqlSession, alias: string): Promise<number> {
  const [found] = await session.all(
    `SELECT max(column_count) AS width, bool_or(schema_name = 'main' AND NOT (${NOT_FIRST})) AS is_left
       FROM duckdb_tables() WHERE database_name = current_database()`,
  );
  if (found?.['is_left'] === true) {
    await session.run(`DROP TABLE ${FIRST}`);
    // Its space is free for what is written next.
    await session.run(`CHECKPOINT ${alias}`);
  }
  return Number(found?.['width'] ?? 0);
}
