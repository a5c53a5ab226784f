import type { MotherDuckDestination } from '../../../model/destination.ts';
import type { SqlSession } from '../../../model/sql.ts';
import { quoteLiteral } from '../../../warehouse/identifiers.ts';
import type { LakehouseReach } from '../open-engine.ts';

/** The one step that needs the service; tests put another one in its place. */
export const motherDuck = { reach: reachMotherDuck };

/** What the engine needs to have the database open. Everything else of this room works on tables of the engine. */
function reachMotherDuck(destination: MotherDuckDestination): Omit<LakehouseReach, 'extensions'> {
  return {
    needs: ['motherduck'],
    // The extension has a connection of its own to the service, open before the engine is locked. Its documentation
    // names no file or setting that it needs afterwards; this is not tried.
    places: [],
    attach: (session) => attachDatabase(session, destination),
  };
}

/** A session of its own, which leaves the saved workspace of the account as it is. */
async function attachDatabase(
  session: SqlSession,
  { database, token }: MotherDuckDestination,
): Promise<void> {
  // Not in the statement below, whose text errors repeat. It can be set once, before the first connection.
  await session.run(`SET motherduck_token = ${quoteLiteral(token)}`);
  // Without an alias, which the service refuses for databases of one's own, and without READ_ONLY, of which its
  // documentation says nothing.
  await session.run(`ATTACH ${quoteLiteral(`md:${database}`)}`);
}
