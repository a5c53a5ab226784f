import type { SqlSession } from '../model/sql.ts';

/** A table of the file with the rows of a first scan: it becomes the stream's table, so that they are written once. */
export const FIRST = 'main."~first"';

/** Removes what a process left in a file if it ended before the commit of its first scan. */
export async function dropLeftFirst(session: SqlSession): Promise<void> {
  await session.run(`DROP TABLE IF EXISTS ${FIRST}`);
}
