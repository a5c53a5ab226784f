import type { MotherDuckDestination } from '../../../model/destination.ts';
import type { Database } from '../../../warehouse/database.ts';
import type { LakehouseAccess } from '../lakehouse.ts';
import { openEngine } from '../open-engine.ts';
import { attachDatabase, needs } from './attach-motherduck.ts';
import { describeMotherDuckFailure } from './describe-motherduck-failure.ts';

/** See `Lakehouse.open`. The database is always there: what it has of ours is found later. */
export async function openMotherDuck(
  destination: MotherDuckDestination,
  access: LakehouseAccess,
): Promise<Database> {
  try {
    return await openEngine(access, {
      extensions: destination.extensions,
      needs,
      // The extension has a connection of its own to the service, which is open before the engine is locked. Its
      // documentation names no file or setting that it needs afterwards; this is not tried.
      places: [],
      attach: (session) => attachDatabase(session, destination),
    });
  } catch (error) {
    throw describeMotherDuckFailure(destination, error);
  }
}
