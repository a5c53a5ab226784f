import { type ConfigAccount, layerAccount } from './accounts.ts';
import { type ConfigPath, valueAt } from './config-path.ts';
import type { Problem } from './problem.ts';
import type { Config } from '../model/config.ts';
import type { DuckLakeDestination, ExtensionFolder, LakeCatalog, ObjectStore } from '../model/destination.ts';

type Refuse = (key: ConfigPath, message: string, hint: string) => never;

/** What the places of a lake depend on. */
export interface LakeScope {
  /** Makes a path absolute. */
  readonly resolve: (text: string) => string;
  readonly stateDir: string;
  readonly refuse: Refuse;
}

const CATALOG: ConfigPath = ['destination', 'ducklake', 'catalog'];
const SCHEMA: ConfigPath = ['destination', 'ducklake', 'schema'];
const DATA: ConfigPath = ['destination', 'ducklake', 'data'];
const ENDPOINT: ConfigPath = ['destination', 's3', 'endpoint'];

/** The DuckLake of a config; undefined where it names none. */
export function resolveDuckLake(
  { destination, engine }: Config,
  scope: LakeScope,
): DuckLakeDestination | undefined {
  const { ducklake, s3 } = destination;
  if (ducklake === undefined) {
    if (s3 !== undefined)
      scope.refuse(
        ['destination', 's3'],
        'says how to reach buckets, and nothing is published to one',
        'Remove it, or write destination.ducklake with data: s3://bucket/prefix.',
      );
    return undefined;
  }
  const { schema = 'main' } = ducklake;
  const catalog = readCatalog(ducklake.catalog, scope);
  const shown = catalog.kind === 'sqlite' ? catalog.file : describeServer(catalog.url);
  const store = readStore(s3, scope);
  return {
    kind: 'ducklake',
    path: schema === 'main' ? shown : `${shown}#${schema}`,
    catalog,
    data: readData(ducklake.data, scope),
    schema,
    store,
    extensions: findExtensions(engine?.extensionDirectory, scope),
    secrets: listSecrets(catalog, store),
  };
}

function listSecrets(catalog: LakeCatalog, { keys }: ObjectStore): readonly string[] {
  const written = catalog.kind === 'postgres' ? catalog.url.password : '';
  return [written, decodeURIComponent(written), keys?.secret ?? ''].filter((text) => text !== '');
}

/** The extensions of the engine: those of the config, or a folder that is filled when they are needed. */
function findExtensions(written: string | undefined, { resolve, stateDir }: LakeScope): ExtensionFolder {
  return written === undefined
    ? { folder: `${stateDir}/extensions`, installs: true }
    : { folder: resolve(written), installs: false };
}

function readCatalog(text: string, { resolve, refuse }: LakeScope): LakeCatalog {
  const file = /^sqlite:(?!\/\/)(.+)$/s.exec(text)?.[1];
  if (file !== undefined) return { kind: 'sqlite', file: resolve(file) };
  if (!/^postgres(?:ql)?:\/\//.test(text))
    return refuse(
      CATALOG,
      'must be a database of Postgres, or a file of SQLite',
      'Write postgres://user@host/database, or sqlite:./catalog.sqlite. (A DuckDB file as the catalog would lock out readers while a sync writes.)',
    );
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.hostname === '' || !/^\/[^/]+$/.test(url.pathname) || !isDecodable(url))
    return refuse(
      CATALOG,
      'is not an address of a database',
      'Write postgres://user:password@host:5432/database, with other characters than letters and digits percent-encoded in the password.',
    );
  if (url.search !== '' || url.hash !== '')
    return refuse(
      CATALOG,
      'has options behind the name of the database, which are not supported',
      'Remove ? and what follows. PGSSLMODE and the other variables of libpq work as usual.',
    );
  return { kind: 'postgres', url };
}

function isDecodable({ username, password, pathname }: URL): boolean {
  try {
    for (const part of [username, password, pathname]) decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}

function describeServer({ host, pathname }: URL): string {
  return `postgres://${host}${pathname}`;
}

function readData(text: string, { resolve, refuse }: LakeScope): string {
  const data = text.replace(/\/+$/, '');
  if (/^s3:\/\//i.test(data)) {
    if (/^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:\/[^*?[\]{}\\]+)?$/.test(data)) return data;
    return refuse(DATA, 'is not the name of a bucket and a prefix', 'Write s3://bucket/prefix.');
  }
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(data))
    return refuse(
      DATA,
      'must be a folder, or a bucket of S3 or its kin',
      'Write ./data, or s3://bucket/prefix.',
    );
  const folder = resolve(data);
  if (/[*?[\]{}]/.test(folder))
    return refuse(DATA, `must not have a path with one of * ? [ ] { }: ${folder}`, 'Name another folder.');
  return folder;
}

function readStore(s3: Config['destination']['s3'], { refuse }: LakeScope): ObjectStore {
  const { endpoint, region, urlStyle, credentials } = s3 ?? {};
  return {
    endpoint: endpoint === undefined ? undefined : readEndpoint(endpoint, refuse),
    region,
    urlStyle,
    keys: typeof credentials === 'object' ? credentials : undefined,
  };
}

function readEndpoint(text: string, refuse: Refuse): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url !== undefined && url.pathname === '/' && url.search === '' && url.username === '';
  if (!isPlain || !/^https?:$/.test(url.protocol))
    return refuse(ENDPOINT, 'is not the address of a server', 'Write https://host, or https://host:port.');
  const isLocal = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol === 'http:' && !isLocal)
    return refuse(
      ENDPOINT,
      'sends rows and signatures over the network in the clear',
      'Write https://; http:// is for a server on this machine.',
    );
  return url;
}

/** Whether an account publishes to a DuckLake. */
export function hasDuckLake(value: unknown): boolean {
  return textAt(value, CATALOG) !== undefined;
}

/** The first two accounts that would write the same schema of one DuckLake, as their configs are written. */
export function findSharedLake(accounts: readonly ConfigAccount[]): Problem | undefined {
  const taken = new Map<string, string>();
  for (const account of accounts) {
    const { name } = account;
    const { value } = layerAccount(account);
    const catalog = textAt(value, CATALOG);
    if (catalog === undefined) continue;
    const place = JSON.stringify(
      [catalog, textAt(value, SCHEMA) ?? 'main'].map((text) => text.replaceAll('${account}', name)),
    );
    const other = taken.get(place);
    if (other !== undefined)
      return {
        path: SCHEMA,
        message: `${other} and ${name} would share a schema of one DuckLake, and each account needs its own`,
        hint: 'Write schema: "${account}"',
      };
    taken.set(place, name);
  }
  return undefined;
}

function textAt(value: unknown, at: ConfigPath): string | undefined {
  const found = valueAt(value, at);
  return typeof found === 'string' && found.trim() !== '' ? found.trim() : undefined;
}
