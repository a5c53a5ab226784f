import type { SqlSession } from '../model/sql.ts';

/** Name of `FIRST`: a killed process may leave it to who only reads the file. */
export const FIRST_NAME = '~first';

/** A table of the file with the rows of a first scan: it becomes the stream's table, so that they are written once. */
export const FIRST = `main."${FIRST_NAME}"`;

/** Removes what a process left in a file if it ended before the commit of its first scan. */
export async function dropLeftFirst(session: SqlSession): Promise<void> {
  await session.run(`DROP TABLE IF EXISTS ${FIRST}`);
}
