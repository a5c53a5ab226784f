import type { RelationComments } from '../../model/dictionary.ts';
import type { Database } from '../../warehouse/database.ts';
import type { Lakehouse, LakehouseAccess } from './lakehouse.ts';
import { readStoredComments } from './stored-comments.ts';

/**
 * Opens a lakehouse, and makes it where there is none.
 *
 * @param folder for what does not fit into memory
 * @param more see `LakehouseAccess`
 */
export async function openToWrite(
  lakehouse: Lakehouse,
  folder: string,
  more: Pick<LakehouseAccess, 'file' | 'readFile' | 'signal'> = {},
): Promise<Database> {
  const database = await lakehouse.open({ mode: 'create', folders: [folder], ...more });
  if (database === undefined) throw new TypeError('a lakehouse was not made');
  return database;
}

/** The same with a work file, whose comments are read before the lakehouse is open. */
export async function openToPublish(
  lakehouse: Lakehouse,
  folder: string,
  { file, signal }: { readonly file: string; readonly signal: AbortSignal | undefined },
): Promise<{ readonly database: Database; readonly comments: readonly RelationComments[] }> {
  let comments: readonly RelationComments[] = [];
  const database = await openToWrite(lakehouse, folder, {
    file,
    signal,
    readFile: async (session) => {
      comments = await readStoredComments(session);
    },
  });
  return { database, comments };
}
