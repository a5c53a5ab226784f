import type { Stream } from '../model/stream.ts';
import type { Database } from '../warehouse/database.ts';
import { tableExists } from '../warehouse/evolve-table.ts';
import type { IncomingPlace } from '../warehouse/incoming.ts';

/** Smaller scans are loaded quickly after they end, bytes. */
export const LONG_BYTES = 16 * 2 ** 20;

/** Where the rows of a scan go before its commit: those of a long first scan into the file, as its table. */
export async function chooseIncomingPlace(
  database: Database,
  { table, history, slice }: Stream,
  bytes: number,
): Promise<IncomingPlace> {
  if (bytes < LONG_BYTES || history || slice !== undefined) return 'temporary';
  return (await tableExists(database, table)) ? 'temporary' : 'file';
}
