import type { MotherDuckDestination } from '../../../model/destination.ts';
import type { Database } from '../../../warehouse/database.ts';
import type { LakehouseAccess } from '../lakehouse.ts';
import { openEngine } from '../open-engine.ts';
import { motherDuck } from './attach-motherduck.ts';
import { describeMotherDuckFailure } from './describe-motherduck-failure.ts';

/** See `Lakehouse.open`. The database is always there: what it has of ours is found later. */
export async function openMotherDuck(
  destination: MotherDuckDestination,
  access: LakehouseAccess,
): Promise<Database> {
  const { extensions } = destination;
  try {
    return await openEngine(access, { extensions, ...motherDuck.reach(destination) });
  } catch (error) {
    throw describeMotherDuckFailure(destination, error);
  }
}
