import { type Stats, statSync } from 'node:fs';
import path from 'node:path';
import { configDefaults } from '../model/config.ts';
import { ConfigError } from '../model/errors.ts';
import { LAKE_CATALOG } from '../model/lake.ts';
import type { Destination, EngineReach, FileDestination } from '../model/destination.ts';
import type { ConfigPath } from './config-path.ts';
import { resolveLakehouses } from './lakehouse-destinations.ts';
import { resolveReach } from './lakehouse-settings.ts';
import type { LoadedConfig } from './load-config.ts';
import { buildConfigError } from './problem.ts';
import { resolveLinks } from '../files/real-paths.ts';

/** The copy that commands read, in the state folder, where the config names no file and no folder to publish to. */
export const READERS_FILE = 'readers.duckdb';

/** The default state folder: with accounts, each has one of its own. */
export function defaultStateDir(account: string | undefined): string {
  return account === undefined ? configDefaults.stateDir : `${configDefaults.stateDir}/${account}`;
}

/** A place that the config of one account names. */
export interface PlaceRule {
  readonly kind: FileDestination['kind'] | 'stateDir';
  readonly at: ConfigPath;
  /** For people. */
  readonly title: string;
  /** What several accounts write in place of a folder or file that they would share. */
  readonly own: (written: string) => string;
}

export const placeRules: readonly PlaceRule[] = [
  {
    kind: 'duckdb',
    at: ['destination', 'duckdb'],
    title: 'DuckDB file',
    own: (written) => `${/^.*[/\\]/.exec(written)?.[0] ?? ''}accounts/\${account}.duckdb`,
  },
  {
    kind: 'parquet',
    at: ['destination', 'parquet'],
    title: 'lake',
    own: (written) => `${withoutEnd(written)}/account=\${account}`,
  },
  {
    kind: 'stateDir',
    at: ['stateDir'],
    title: 'state folder',
    own: (written) => `${withoutEnd(written)}/\${account}`,
  },
];

function withoutEnd(folder: string): string {
  return folder.replace(/[/\\]+$/, '');
}

/** Where readers find what is published at these places; undefined where nothing is. */
export function findReaders(
  places: readonly { readonly kind: string; readonly path: string }[],
): { readonly readersFile: string; readonly lake: string | undefined } | undefined {
  const find = (kind: Destination['kind']) => places.find((place) => place.kind === kind)?.path;
  const lake = find('parquet');
  const readersFile = find('duckdb') ?? (lake && path.join(lake, LAKE_CATALOG));
  return readersFile === undefined ? undefined : { readersFile, lake };
}

/** The places a run writes to, absolute. */
export interface StoragePaths {
  readonly destinations: readonly Destination[];
  /** The published DuckDB file or, without one, that of the lake. */
  readonly readersFile: string;
  readonly stateDir: string;
  readonly reach: EngineReach;
}

/** Paths of the command line, already absolute, that win over those of the config. */
export interface PathOverrides {
  readonly duckdb?: string;
  readonly stateDir?: string;
}

type Refuse = (key: ConfigPath, message: string, hint: string) => never;

/** Resolves the published file, the lake and the state folder, and rejects impossible ones. */
export function resolveStoragePaths(
  loaded: LoadedConfig,
  home: string | undefined,
  overrides: PathOverrides,
): StoragePaths {
  const { destination, stateDir: configured = defaultStateDir(loaded.account) } = loaded.config;
  const refuse: Refuse = (key, message, hint) => {
    throw buildConfigError([{ path: key, message, hint }], loaded);
  };
  const stateDir = resolvePath(overrides.stateDir ?? configured, loaded.baseDir, home);
  if (isFolder(stateDir) === false)
    refuse(
      ['stateDir'],
      `${stateDir} is a file and must be a folder`,
      'Name another folder, e.g. ./.sluice.',
    );
  const realState = resolveLinks(stateDir);
  if (realState.includes('?'))
    refuse(['stateDir'], `must not have a path with a question mark: ${realState}`, 'Name another folder.');
  const resolve = (text: string) => resolvePath(text, loaded.baseDir, home);
  const { parquet } = destination;
  const duckdb = overrides.duckdb ?? destination.duckdb;
  const destinations: Destination[] = [];
  if (duckdb !== undefined) destinations.push({ kind: 'duckdb', path: resolve(duckdb) });
  if (parquet !== undefined) {
    const folder = resolve(parquet);
    checkLake(parquet, folder, refuse);
    destinations.push({ kind: 'parquet', path: folder });
  }
  const reach = resolveReach(loaded.config, { resolve, stateDir, refuse });
  destinations.push(...resolveLakehouses(loaded.config, { resolve, stateDir, refuse, reach }));
  const readers = findReaders(destinations);
  // Commands that show data read a copy of their own where nothing else is on this machine.
  if (readers === undefined) destinations.push({ kind: 'duckdb', path: path.join(stateDir, READERS_FILE) });
  const { readersFile = path.join(stateDir, READERS_FILE) } = readers ?? {};
  if (duckdb !== undefined) checkDuckdb(duckdb, readersFile, refuse);
  return { destinations, readersFile, stateDir, reach };
}

function checkDuckdb(text: string, file: string, refuse: Refuse): void {
  const key = ['destination', 'duckdb'];
  if (isElsewhere(text))
    refuse(
      key,
      'must be a file on this machine',
      /^(?:md|motherduck):/i.test(text)
        ? 'Write a path, e.g. ./warehouse.duckdb. For MotherDuck use destination.motherduck: { database, token }, as docs/lakehouse.md shows.'
        : 'Write a path, e.g. ./warehouse.duckdb. For a bucket use destination.ducklake or destination.iceberg.',
    );
  if (/[/\\]$/.test(text) || isFolder(file) === true)
    refuse(key, `${file} is a folder`, `Name a file in it, e.g. ${path.join(file, 'warehouse.duckdb')}.`);
  if (isPipeOrDevice(file))
    refuse(key, `${file} is a pipe or a device`, 'Name a file, e.g. ./warehouse.duckdb.');
  const realFile = resolveLinks(file);
  // The engine would read the rest as options of the file, and write its log somewhere else.
  if (realFile.includes('?'))
    refuse(key, `must not have a path with a question mark: ${realFile}`, 'Name another file.');
}

function checkLake(text: string, folder: string, refuse: Refuse): void {
  const key = ['destination', 'parquet'];
  if (isElsewhere(text))
    refuse(
      key,
      'must be a folder on this machine',
      'Write a path, e.g. ./lake. For a bucket use destination.ducklake or destination.iceberg: a bucket cannot rename files, so readers that use a pattern would see replaced rows.',
    );
  if (isFolder(folder) === false)
    refuse(key, `${folder} is a file and must be a folder`, 'Name a folder, e.g. ./lake.');
  // Readers use glob patterns for its files, and these characters would be part of the pattern.
  const odd = [folder, resolveLinks(folder)].find((place) => ODD_IN_LAKES.test(place));
  if (odd !== undefined)
    refuse(
      key,
      `must not have a path with one of * ? [ ] { } or a backslash: ${odd}`,
      'Name another folder.',
    );
}

const ODD_IN_LAKES = path.sep === '/' ? /[*?[\]{}\\]/ : /[*?[\]{}]/;

/** Whether a path is not one of this machine's file system. */
export function isElsewhere(text: string): boolean {
  return /^(?:[a-z][a-z0-9+.-]+:\/\/|md:|motherduck:|:memory:)/i.test(text);
}

/** A path of the config, absolute: relative ones start at its folder, `~/` at the home folder. */
export function resolvePath(text: string, baseDir: string, home: string | undefined): string {
  // YAML has no shell to expand ~, and a folder named ~ is a trap for the next `rm -r ~`.
  if (!/^~[/\\]/.test(text)) return path.resolve(baseDir, text);
  if (home !== undefined) return path.join(home, text.slice(2));
  throw new ConfigError('a path starts with ~ and this user has no home folder', {
    code: 'config_invalid',
    hint: 'Write the path out in full, or set HOME.',
  });
}

/** Undefined if nothing exists at the path, or nothing this user may see. */
export function isFolder(target: string): boolean | undefined {
  return lookAt(target)?.isDirectory();
}

/** Such a place cannot be replaced by a published file, and opening a pipe may wait for ever. */
export function isPipeOrDevice(target: string): boolean {
  const found = lookAt(target);
  return found !== undefined && !found.isFile() && !found.isDirectory();
}

function lookAt(target: string): Stats | undefined {
  try {
    return statSync(target);
  } catch {
    return undefined;
  }
}
