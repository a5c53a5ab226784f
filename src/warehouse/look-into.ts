import { BugError, type SyncError } from '../model/errors.ts';
import { Database } from './database.ts';

/** Reads something from a published file; undefined for one that is not ours or cannot be read. */
export async function lookInto<T>(
  file: string,
  read: (database: Database) => Promise<T>,
): Promise<T | undefined> {
  let database;
  try {
    database = await Database.open({ file, readOnly: true, folders: [] });
    return await read(database);
  } catch (error) {
    // A read error says nothing about the owner of the file.
    if (error instanceof BugError || (error as SyncError).code === 'state_damaged') return undefined;
    throw error;
  } finally {
    await database?.release();
  }
}
