import type { MotherDuckDestination } from '../../../model/destination.ts';
import type { SqlSession } from '../../../model/sql.ts';
import { quoteLiteral } from '../../../warehouse/identifiers.ts';

/** Extensions that the attach needs. */
export const needs: readonly string[] = ['motherduck'];

/** Attaches the database, as a session of its own that leaves the saved workspace of the account as it is. */
export async function attachDatabase(
  session: SqlSession,
  { database, token }: MotherDuckDestination,
): Promise<void> {
  // Not in the statement below, whose text errors repeat. It can be set once, before the first connection.
  await session.run(`SET motherduck_token = ${quoteLiteral(token)}`);
  // Without an alias: the service refuses them for databases of one's own. There is no word on READ_ONLY for these.
  await session.run(`ATTACH ${quoteLiteral(`md:${database}`)}`);
}
