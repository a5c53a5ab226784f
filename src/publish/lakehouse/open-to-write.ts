import type { Database } from '../../warehouse/database.ts';
import type { Lakehouse } from './lakehouse.ts';

/**
 * Opens a lakehouse, and makes it where there is none.
 *
 * @param folder for what does not fit into memory
 * @param file see `LakehouseAccess`
 */
export async function openToWrite(lakehouse: Lakehouse, folder: string, file?: string): Promise<Database> {
  const folders = [folder];
  const database = await lakehouse.open({ mode: 'create', folders, ...(file !== undefined && { file }) });
  if (database === undefined) throw new TypeError('a lakehouse was not made');
  return database;
}
