import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolders } from '../../../files/make-folders.ts';
import type { DuckLakeDestination } from '../../../model/destination.ts';
import type { SqlSession } from '../../../model/sql.ts';
import type { Database } from '../../../warehouse/database.ts';
import { quoteIdentifier, quoteLiteral } from '../../../warehouse/identifiers.ts';
import type { LakehouseAccess } from '../lakehouse.ts';
import { describeLogin, describeOptions } from '../login-postgres.ts';
import { LAKE, toLakeSchema } from '../names.ts';
import { createStoreSecret, listStoreExtensions, openEngine } from '../open-engine.ts';
import { attachLock } from './catalog-lock.ts';
import { describeDuckLakeFailure, MissingLakeError } from './describe-ducklake-failure.ts';
import { loosenBounds } from './loosen-bounds.ts';

/** See `Lakehouse.open`. A catalog that has its data elsewhere belongs to others. */
export async function openDuckLake(
  lake: DuckLakeDestination,
  access: LakehouseAccess,
): Promise<Database | undefined> {
  const { catalog, data, extensions } = lake;
  try {
    if (access.mode === 'create') makeLocalFolders(lake);
    return await openEngine(access, {
      extensions,
      needs: listExtensions(lake),
      // The engine of an SQLite catalog makes files beside it.
      places: [`${data}/`, ...(catalog.kind === 'sqlite' ? [dirname(catalog.file)] : [])],
      attach: (session) => attachLake(session, lake, access.mode),
    });
  } catch (thrown) {
    const error = describeDuckLakeFailure(lake, thrown);
    if (error instanceof MissingLakeError) return undefined;
    throw error;
  }
}

/** Whether data lies in an object store. */
export function isRemote(data: string): boolean {
  return data.includes('://');
}

// The engine makes one level of folders only.
function makeLocalFolders({ data, schema, catalog }: DuckLakeDestination): void {
  if (!isRemote(data))
    for (const stored of ['main', '_sluice'] as const) makeFolders(join(data, toLakeSchema(schema, stored)));
  if (catalog.kind === 'sqlite') makeFolders(dirname(catalog.file));
}

async function attachLake(
  session: SqlSession,
  lake: DuckLakeDestination,
  mode: LakehouseAccess['mode'],
): Promise<void> {
  const { catalog, data, store } = lake;
  if (isRemote(data)) {
    await createStoreSecret(session, store);
    // A wrong key or a missing bucket would only be found once there is something to publish. Nothing has this name.
    await session.all(`SELECT count(*) FROM glob(${quoteLiteral(`${data}/sluice-probe*`)})`);
  }
  if (mode === 'read' && catalog.kind === 'sqlite' && !existsSync(catalog.file))
    throw new MissingLakeError(lake);
  if (catalog.kind === 'postgres') await session.run(describeLogin('sluice_catalog', catalog.url));
  const options = [
    `DATA_PATH ${quoteLiteral(`${data}/`)}`,
    `CREATE_IF_NOT_EXISTS ${String(mode === 'create')}`,
    ...(mode === 'read' ? ['READ_ONLY'] : []),
    ...(catalog.kind === 'postgres' ? [`META_SECRET 'sluice_catalog'`] : ['META_BUSY_TIMEOUT 10000']),
    // Without it, a reader inside a transaction keeps every writer from committing.
    ...(catalog.kind === 'sqlite' && mode === 'create' ? [`META_JOURNAL_MODE 'WAL'`] : []),
  ];
  const source =
    catalog.kind === 'sqlite' ? `sqlite:${catalog.file}` : `postgres:${describeOptions(catalog.url)}`;
  // What the extension (of DuckDB 1.5.5) tries again itself, it may commit wrongly: rows that were deleted come back.
  await session.run('SET ducklake_max_retry_count = 0');
  if (catalog.kind === 'postgres' && mode === 'create') await attachLock(session, catalog.url);
  await session.run(
    `ATTACH ${quoteLiteral(`ducklake:${source}`)} AS ${quoteIdentifier(LAKE)} (${options.join(', ')})`,
  );
  if (mode === 'create') await loosenBounds(session, lake);
}

function listExtensions({ catalog, data, store }: DuckLakeDestination): readonly string[] {
  return [
    'ducklake',
    catalog.kind === 'sqlite' ? 'sqlite_scanner' : 'postgres_scanner',
    ...(isRemote(data) ? listStoreExtensions(store) : []),
  ];
}
