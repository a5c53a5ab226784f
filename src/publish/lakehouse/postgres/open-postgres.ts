import type { PostgresDestination } from '../../../model/destination.ts';
import type { SqlSession } from '../../../model/sql.ts';
import type { Database } from '../../../warehouse/database.ts';
import { quoteIdentifier, quoteLiteral } from '../../../warehouse/identifiers.ts';
import type { LakehouseAccess } from '../lakehouse.ts';
import { describeLogin, describeOptions } from '../login-postgres.ts';
import { LAKE } from '../names.ts';
import { openEngine } from '../open-engine.ts';
import { describePostgresFailure } from './describe-postgres-failure.ts';

/** See `Lakehouse.open`. The database is always there: what it has of ours is found later. */
export async function openPostgres(
  destination: PostgresDestination,
  access: LakehouseAccess,
): Promise<Database> {
  try {
    return await openEngine(access, {
      extensions: destination.extensions,
      needs: ['postgres_scanner'],
      places: [],
      attach: (session) => attachDatabase(session, destination, access.mode),
    });
  } catch (error) {
    throw describePostgresFailure(destination, error);
  }
}

async function attachDatabase(
  session: SqlSession,
  { url }: PostgresDestination,
  mode: LakehouseAccess['mode'],
): Promise<void> {
  await session.run(describeLogin('sluice_postgres', url));
  const options = ['TYPE postgres', 'SECRET sluice_postgres', ...(mode === 'read' ? ['READ_ONLY'] : [])];
  await session.run(
    `ATTACH ${quoteLiteral(describeOptions(url))} AS ${quoteIdentifier(LAKE)} (${options.join(', ')})`,
  );
}
