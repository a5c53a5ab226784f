import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Where accounts are served, and how many. */
export interface ServedAccounts {
  readonly origin: string;
  readonly count: number;
}

/** The name of the account at a place, counted from 0. */
export function nameAccount(index: number): string {
  return `client-${String(index + 1).padStart(3, '0')}`;
}

/** Its made-up key. */
export function keyOfAccount(name: string): string {
  return `bench-key-of-${name}`;
}

/** Writes one config of all accounts, and a file for each key. */
export function writeAccountsProject(folder: string, served: ServedAccounts, concurrency: number): void {
  const names = listNames(served);
  for (const name of names) writeKey(join(folder, 'keys', name), name);
  writeConfig(folder, {
    source: describeSource(served, '${file:./keys/${account}}'),
    accounts: Object.fromEntries(names.map((name) => [name, {}])),
    destination: { duckdb: './accounts/${account}.duckdb' },
    stateDir: './.sluice/${account}',
    concurrency,
  });
}

/** Writes a config for each account in a folder of its own; returns the folders. */
export function writeSingleProjects(folder: string, served: ServedAccounts): readonly string[] {
  return listNames(served).map((name) => {
    const own = join(folder, name);
    writeKey(join(own, 'key'), name);
    writeConfig(own, {
      source: describeSource(served, '${file:./key}'),
      destination: { duckdb: './warehouse.duckdb' },
    });
    return own;
  });
}

function listNames({ count }: ServedAccounts): readonly string[] {
  return Array.from({ length: count }, (_, index) => nameAccount(index));
}

function describeSource({ origin }: ServedAccounts, apiKey: string): object {
  const quota = { ledgerDir: './quota' };
  return { connector: 'analytics-read', baseUrl: `${origin}/api/v1`, apiKey, quota };
}

function writeKey(file: string, name: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, `${keyOfAccount(name)}\n`, { mode: 0o600 });
}

function writeConfig(folder: string, config: object): void {
  // JSON is YAML.
  writeFileSync(join(folder, 'sluice.yaml'), JSON.stringify(config));
}
