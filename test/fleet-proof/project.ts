import { createHash } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findExtensions } from '../support/lake-servers.ts';
import type { ApiOptions } from './stand-in-api.ts';
import type { TablePlace } from './tables.ts';

export type PlaceKind = TablePlace['kind'];

export interface SceneOptions {
  /** Of its folder, its database and its bucket. */
  readonly name: string;
  /** The kind of destination of each account, by its name. */
  readonly accounts: Readonly<Record<string, PlaceKind>>;
  readonly api: ApiOptions;
  readonly leaseS: number;
  readonly putEveryPages?: number;
  /** A run reads again what another one has just read. */
  readonly readsAgain?: boolean;
  /** All accounts have this key, and ask for topics of their own. */
  readonly sharedKey?: string;
}

const STREAMS = [
  'visibility_mentions',
  'prompts_analytics',
  'commerce_category_products',
  'commerce_top_products',
] as const;

/** The schema of an account in a lake that all share. */
export function nameSchema(account: string): string {
  return account.replaceAll('-', '_');
}

/** What a config says of the API and its accounts. */
export function describeSource(
  { accounts, sharedKey, readsAgain = false }: SceneOptions,
  { baseUrl, keys }: { readonly baseUrl: string; readonly keys: string },
) {
  const describe = (account: string) => {
    if (sharedKey === undefined) return {};
    const params = { topics: [account] };
    return { streams: Object.fromEntries(STREAMS.map((name) => [name, { params }])) };
  };
  return {
    source: { connector: 'analytics-read', baseUrl, apiKey: `\${file:${keys}/\${account}}` },
    accounts: Object.fromEntries(Object.keys(accounts).map((account) => [account, describe(account)])),
    ...(readsAgain && { defaults: { freshness: '0s' } }),
  };
}

/** Writes the config of a fleet, and the keys of its accounts. */
export function writeProject(folder: string, options: SceneOptions, region: string): void {
  const { name, leaseS, putEveryPages = 50, sharedKey } = options;
  mkdirSync(join(folder, 'keys'), { recursive: true });
  const { accounts, ...source } = describeSource(options, { baseUrl: '${API_URL}', keys: './keys' });
  for (const account of Object.keys(accounts))
    writeFileSync(join(folder, 'keys', account), sharedKey ?? makeKey(account), { mode: 0o600 });
  const config = {
    ...source,
    accounts: Object.fromEntries(
      Object.entries(accounts).map(([account, own]) => [
        account,
        { ...own, destination: describeDestination(options, account) },
      ]),
    ),
    engine: { extensionDirectory: findExtensions() },
    destination: {
      s3: {
        endpoint: '${STORE_URL}',
        region,
        urlStyle: 'path',
        credentials: { keyId: '${STORE_KEY}', secret: '${STORE_SECRET}' },
      },
    },
    fleet: {
      database: '${FLEET_DATABASE_URL}',
      store: `s3://fleet-${name}/states`,
      encryptionKey: '${FLEET_KEY}',
      lease: `${leaseS}s`,
      putEveryPages,
    },
  };
  // JSON is YAML. Workers may be reading it.
  const file = join(folder, 'sluice.yaml');
  writeFileSync(`${file}.new`, JSON.stringify(config, undefined, 1));
  renameSync(`${file}.new`, file);
}

function describeDestination({ accounts, name }: SceneOptions, account: string): object {
  switch (accounts[account]) {
    case 'parquet':
      return { parquet: './lake/account=${account}' };
    case 'ducklake': {
      // All schemas of a catalog have one folder.
      const data = `s3://fleet-${name}/lake`;
      return { ducklake: { catalog: '${LAKE_URL}', data, schema: nameSchema(account) } };
    }
    default:
      return { duckdb: './accounts/${account}.duckdb' };
  }
}

/** A key that has nothing of the name in it: else the name would be hidden in logs as a part of the key. */
function makeKey(account: string): string {
  return createHash('sha256').update(account).digest('hex').slice(0, 24);
}
