import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolders } from '../../files/make-folders.ts';
import type { DuckLakeDestination, LakeCatalog, ObjectStore } from '../../model/destination.ts';
import type { SqlSession } from '../../model/sql.ts';
import { Database } from '../../warehouse/database.ts';
import { MEMORY_FILE } from '../../warehouse/database-options.ts';
import { quoteIdentifier, quoteLiteral } from '../../warehouse/identifiers.ts';
import { describeFailure, MissingLakeError } from './describe-failure.ts';
import { LAKE, toLakeSchema } from './names.ts';

/** How a lake is opened. */
export interface LakeAccess {
  /** `create` makes the catalog where there is none. */
  readonly mode: 'create' | 'read';
  /** Absolute path of the file that is open with it as `work`; by default one in memory. */
  readonly file?: string;
  /** Whether that file is written. */
  readonly writesFile?: boolean;
  /** For what does not fit into memory. */
  readonly folders?: readonly string[];
  /** Called before the engine is locked: it may still attach and create anything in `work`. */
  readonly prepare?: (session: SqlSession) => Promise<void>;
}

/**
 * Opens a DuckLake in an engine of its own, which can access nothing but the lake and the one file.
 *
 * @returns undefined if there is no lake yet; everything that it needs was found then
 * @throws ConfigError (2) for an extension that is missing; PublishError: 2 for a catalog that is not a DuckLake or has
 * its data elsewhere, 6 for servers that cannot be reached or refuse
 */
export async function openLake(
  lake: DuckLakeDestination,
  { file = MEMORY_FILE, writesFile = file === MEMORY_FILE, folders = [], mode, prepare }: LakeAccess,
): Promise<Database | undefined> {
  const { catalog, data, extensions } = lake;
  try {
    if (mode === 'create') makeLocalFolders(lake);
    return await Database.open({
      file,
      readOnly: !writesFile,
      folders,
      // The engine of an SQLite catalog makes files beside it.
      views: [`${data}/`, ...(catalog.kind === 'sqlite' ? [dirname(catalog.file)] : [])],
      extensions: extensions.folder,
      attachMore: async (session) => {
        await attachLake(session, lake, mode);
        await prepare?.(session);
      },
    });
  } catch (thrown) {
    const error = describeFailure(lake, thrown);
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
  mode: LakeAccess['mode'],
): Promise<void> {
  const { catalog, data, store } = lake;
  for (const name of listExtensions(lake)) await loadExtension(session, name, lake.extensions.installs);
  if (isRemote(data)) {
    await session.run(describeStore(store));
    // A wrong key or a missing bucket would only be found once there is something to publish. Nothing has this name.
    await session.all(`SELECT count(*) FROM glob(${quoteLiteral(`${data}/sluice-probe*`)})`);
  }
  if (mode === 'read' && isMissingFile(catalog)) throw new MissingLakeError(lake);
  if (catalog.kind === 'postgres') await session.run(describeCatalog(catalog.url));
  const options = [
    `DATA_PATH ${quoteLiteral(`${data}/`)}`,
    `CREATE_IF_NOT_EXISTS ${String(mode === 'create')}`,
    ...(mode === 'read' ? ['READ_ONLY'] : []),
    ...(catalog.kind === 'postgres' ? [`META_SECRET 'sluice_catalog'`] : ['META_BUSY_TIMEOUT 10000']),
    // Without it, a reader inside a transaction keeps every writer from committing.
    ...(catalog.kind === 'sqlite' && mode === 'create' ? [`META_JOURNAL_MODE 'WAL'`] : []),
  ];
  const source = catalog.kind === 'sqlite' ? `sqlite:${catalog.file}` : 'postgres:';
  await session.run(
    `ATTACH ${quoteLiteral(`ducklake:${source}`)} AS ${quoteIdentifier(LAKE)} (${options.join(', ')})`,
  );
}

/** Also true for the empty file that a killed first run leaves. */
function isMissingFile(catalog: LakeCatalog): boolean {
  if (catalog.kind !== 'sqlite') return false;
  return !existsSync(catalog.file) || statSync(catalog.file).size === 0;
}

function listExtensions({ catalog, data, store }: DuckLakeDestination): readonly string[] {
  return [
    'ducklake',
    catalog.kind === 'sqlite' ? 'sqlite_scanner' : 'postgres_scanner',
    ...(isRemote(data) ? ['httpfs'] : []),
    ...(isRemote(data) && store.keys === undefined ? ['aws'] : []),
  ];
}

async function loadExtension(session: SqlSession, name: string, installs: boolean): Promise<void> {
  const load = `LOAD ${quoteIdentifier(name)}`;
  try {
    await session.run(load);
  } catch (error) {
    if (!installs) throw error;
    // The engine checks the signature of what it downloads, each time that it loads it.
    await session.run(`INSTALL ${quoteIdentifier(name)}`);
    await session.run(load);
  }
}

function describeStore({ endpoint, region, urlStyle, keys }: ObjectStore): string {
  const parts = [
    'TYPE s3',
    ...(keys === undefined
      ? ['PROVIDER credential_chain']
      : [`KEY_ID ${quoteLiteral(keys.keyId)}`, `SECRET ${quoteLiteral(keys.secret)}`]),
    ...(region === undefined ? [] : [`REGION ${quoteLiteral(region)}`]),
    ...(endpoint === undefined ? [] : [`ENDPOINT ${quoteLiteral(endpoint.host)}`]),
    ...(endpoint?.protocol === 'http:' ? ['USE_SSL false'] : []),
    ...(urlStyle === undefined ? [] : [`URL_STYLE ${quoteLiteral(urlStyle)}`]),
  ];
  return `CREATE SECRET sluice_store (${parts.join(', ')})`;
}

function describeCatalog(url: URL): string {
  const named = [
    ['HOST', url.hostname.replace(/^\[|\]$/g, '')],
    ['PORT', url.port],
    ['DATABASE', url.pathname.slice(1)],
    ['USER', url.username],
    ['PASSWORD', url.password],
  ].filter(([, value]) => value !== '');
  const parts = named.map(([name, value]) => `${name} ${quoteLiteral(decodeURIComponent(value ?? ''))}`);
  return `CREATE SECRET sluice_catalog (${['TYPE postgres', ...parts].join(', ')})`;
}
