import { chmod, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFile } from '../files/sync-to-disk.ts';
import { Database } from './database.ts';
import { ATTACHED } from './database-options.ts';
import { quoteLiteral } from './identifiers.ts';

/**
 * Compacts a closed file: copies its tables to a new file, as deleted values stay in a file until they are
 * overwritten. After a kill at any point either the old or the new file exists. Those who may read it stay the same.
 */
export async function rewriteFile(file: string, prepare: (fresh: Database) => Promise<void>): Promise<void> {
  await writeDatabase(file, `${file}.rewrite`, async (fresh) => {
    const database = await Database.open({ file: fresh, folders: [dirname(file)] });
    try {
      // The engine creates its files readable by everybody.
      await chmod(fresh, (await stat(file)).mode & 0o777);
      await database.run(`ATTACH ${quoteLiteral(file)} AS old (READ_ONLY)`);
      await database.run(`COPY FROM DATABASE old TO ${ATTACHED}`);
      await database.run('DETACH old');
      await prepare(database);
      await database.checkpoint();
    } finally {
      await database.release();
    }
  });
}

/**
 * Writes a file of the engine completely or not at all.
 *
 * @param write creates it under its temporary name, and closes it
 */
export async function writeDatabase(
  file: string,
  temporary: string,
  write: (temporary: string) => Promise<void>,
): Promise<void> {
  await removeDatabase(temporary);
  try {
    await write(temporary);
    await syncFile(temporary);
    await rename(temporary, file);
  } finally {
    await removeDatabase(temporary);
  }
}

/** Removes a closed file of the engine, with the log that may lie next to it. */
export async function removeDatabase(file: string): Promise<void> {
  for (const name of [file, `${file}.wal`]) await rm(name, { force: true });
}
