import type { CatalogLogin, IcebergDestination } from '../../../model/destination.ts';
import type { SqlSession } from '../../../model/sql.ts';
import type { Database } from '../../../warehouse/database.ts';
import { quoteIdentifier, quoteLiteral } from '../../../warehouse/identifiers.ts';
import type { LakehouseAccess } from '../lakehouse.ts';
import { LAKE, toLakeSchema } from '../names.ts';
import { createStoreSecret, listStoreExtensions, openEngine } from '../open-engine.ts';
import { describeIcebergFailure } from './describe-iceberg-failure.ts';

/** See `Lakehouse.open`. The catalog is always there: what it has of ours is found later. */
export async function openIceberg(
  destination: IcebergDestination,
  access: LakehouseAccess,
): Promise<Database> {
  const { extensions, store } = destination;
  try {
    return await openEngine(access, {
      extensions,
      needs: ['avro', 'iceberg', ...(store === undefined ? ['httpfs'] : listStoreExtensions(store))],
      // The catalog chooses the bucket of each table.
      places: ['s3://'],
      attach: async (session) => {
        await attachCatalog(session, destination);
        if (access.mode === 'create') await createNamespaces(session, destination.schema);
      },
    });
  } catch (error) {
    throw describeIcebergFailure(destination, error);
  }
}

async function attachCatalog(
  session: SqlSession,
  { endpoint, warehouse, login, store, commitsTogether }: IcebergDestination,
): Promise<void> {
  if (store !== undefined) await createStoreSecret(session, store);
  if (login !== undefined)
    await session.run(
      `CREATE SECRET sluice_catalog (${['TYPE iceberg', ...describeLogin(login)].join(', ')})`,
    );
  const options = [
    'TYPE iceberg',
    `ENDPOINT ${quoteLiteral(endpoint.href.replace(/\/$/, ''))}`,
    login === undefined ? `AUTHORIZATION_TYPE 'none'` : 'SECRET sluice_catalog',
    // Without keys of our own, the catalog gives keys for each table.
    `ACCESS_DELEGATION_MODE ${store === undefined ? `'vended_credentials'` : `'none'`}`,
    ...(commitsTogether ? [] : ['DISABLE_MULTI_TABLE_COMMIT true']),
  ];
  await session.run(`ATTACH ${quoteLiteral(warehouse)} AS ${quoteIdentifier(LAKE)} (${options.join(', ')})`);
}

/** Before anything is looked up: the engine remembers that a namespace was not there. */
async function createNamespaces(session: SqlSession, schema: string): Promise<void> {
  for (const stored of ['main', '_sluice'] as const)
    await session.run(
      `CREATE SCHEMA IF NOT EXISTS ${[LAKE, toLakeSchema(schema, stored)].map(quoteIdentifier).join('.')}`,
    );
}

function describeLogin(login: CatalogLogin): readonly string[] {
  if ('token' in login) return [`TOKEN ${quoteLiteral(login.token)}`];
  const { clientId, clientSecret, tokenUrl, scope } = login;
  return [
    `CLIENT_ID ${quoteLiteral(clientId)}`,
    `CLIENT_SECRET ${quoteLiteral(clientSecret)}`,
    `OAUTH2_SERVER_URI ${quoteLiteral(tokenUrl.href)}`,
    ...(scope === undefined ? [] : [`OAUTH2_SCOPE ${quoteLiteral(scope)}`]),
  ];
}
