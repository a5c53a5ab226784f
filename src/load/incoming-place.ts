import type { Stream } from '../model/stream.ts';
import type { Database } from '../warehouse/database.ts';
import { tableExists } from '../warehouse/evolve-table.ts';
import type { IncomingPlace } from '../warehouse/incoming.ts';

/** Where the rows of a long scan go before its commit: those of a first scan into the file, as its table. */
export async function chooseIncomingPlace(
  database: Database,
  { table, history, slice }: Stream,
): Promise<IncomingPlace> {
  const isPlain = !history && slice === undefined;
  return isPlain && !(await tableExists(database, table)) ? 'file' : 'temporary';
}
