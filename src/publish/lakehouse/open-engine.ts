import type { ExtensionFolder, ObjectStore } from '../../model/destination.ts';
import type { SqlSession } from '../../model/sql.ts';
import { Database } from '../../warehouse/database.ts';
import { MEMORY_FILE } from '../../warehouse/database-options.ts';
import { quoteIdentifier, quoteLiteral } from '../../warehouse/identifiers.ts';
import { areChecked, loadChecking } from './checked-extensions.ts';
import type { LakehouseAccess } from './lakehouse.ts';

/** What an engine needs to open a lakehouse. */
export interface LakehouseReach {
  readonly extensions: ExtensionFolder;
  /** Names of all extensions that attaching may load: what is not named would not be checked. */
  readonly needs: readonly string[];
  /** The only folders and buckets that the engine may access, with a slash at the end. */
  readonly places: readonly string[];
  /** Attaches it, once the extensions are loaded. */
  readonly attach: (session: SqlSession) => Promise<void>;
}

/**
 * Opens a lakehouse in an engine of its own, which can access nothing else but the one file. The signatures of its
 * extensions are checked by the first engine of this process that loads them.
 */
export async function openEngine(
  access: LakehouseAccess,
  { extensions, needs, places, attach }: LakehouseReach,
): Promise<Database> {
  const { file = MEMORY_FILE, writesFile = file === MEMORY_FILE, folders = [] } = access;
  const { folder } = extensions;
  const isChecked = await areChecked(folder, needs);
  return Database.open({
    file,
    readOnly: !writesFile,
    // What is written into a file is read from the lakehouse, which may have more.
    isSizedByFile: !writesFile,
    folders,
    views: places,
    onClosed: access.onClosed,
    extensions: { folder, areChecked: isChecked },
    attachMore: async (session) => {
      await access.readFile?.(session);
      for (const name of needs) {
        if (isChecked) await session.run(writeLoad(name));
        else await loadChecking(session, { folder, name }, () => loadOrInstall(session, name, extensions));
      }
      await attach(session);
      await access.prepare?.(session);
    },
  });
}

async function loadOrInstall(
  session: SqlSession,
  name: string,
  { installs }: ExtensionFolder,
): Promise<void> {
  try {
    await session.run(writeLoad(name));
  } catch (error) {
    if (!installs) throw error;
    // The engine checks the signature of what it downloads when it loads it.
    await session.run(`INSTALL ${quoteIdentifier(name)}`);
    await session.run(writeLoad(name));
  }
}

function writeLoad(name: string): string {
  return `LOAD ${quoteIdentifier(name)}`;
}

/** Extensions that reach an object store. */
export function listStoreExtensions({ keys }: ObjectStore): readonly string[] {
  return ['httpfs', ...(keys === undefined ? ['aws'] : [])];
}

/** Gives the engine the keys of an object store. */
export async function createStoreSecret(
  session: SqlSession,
  { endpoint, region, urlStyle, keys }: ObjectStore,
): Promise<void> {
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
  await session.run(`CREATE SECRET sluice_store (${parts.join(', ')})`);
}
