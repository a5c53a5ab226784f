import type { ConfigPath } from './config-path.ts';
import type { LakehouseScope, Neighbourhood, SharedPlace } from './lakehouse-settings.ts';
import { describeServer, isPostgresUrl, listPasswords, readPostgresUrl } from './postgres-url.ts';
import type { Problem } from './problem.ts';
import { resolveLinks } from '../files/real-paths.ts';
import type { Config } from '../model/config.ts';
import type { Destination, DuckLakeDestination, LakeCatalog, ObjectStore } from '../model/destination.ts';

const CATALOG: ConfigPath = ['destination', 'ducklake', 'catalog'];
const DATA: ConfigPath = ['destination', 'ducklake', 'data'];

export const duckLakePlace: SharedPlace = {
  kind: 'ducklake',
  title: 'DuckLake',
  keys: ['catalog', 'schema'],
  own: 'schema',
  fallback: 'main',
};

/** The DuckLake of a config; undefined where it names none. */
export function resolveDuckLake(
  { destination: { ducklake } }: Config,
  scope: LakehouseScope,
): DuckLakeDestination | undefined {
  const { store, extensions } = scope.reach;
  if (ducklake === undefined) return undefined;
  const { schema = 'main' } = ducklake;
  const catalog = readCatalog(ducklake.catalog, scope);
  const shown = catalog.kind === 'sqlite' ? catalog.file : describeServer(catalog.url);
  return {
    kind: 'ducklake',
    path: schema === 'main' ? shown : `${shown}#${schema}`,
    catalog,
    data: readData(ducklake.data, scope),
    schema,
    store,
    extensions,
    secrets: listSecrets(catalog, store),
  };
}

function listSecrets(catalog: LakeCatalog, { keys }: ObjectStore): readonly string[] {
  const passwords = catalog.kind === 'postgres' ? listPasswords(catalog.url) : [];
  return [...passwords, ...(keys === undefined ? [] : [keys.secret])];
}

function readCatalog(text: string, { resolve, refuse }: LakehouseScope): LakeCatalog {
  const file = /^sqlite:(?!\/\/)(.+)$/s.exec(text)?.[1];
  if (file !== undefined) return { kind: 'sqlite', file: resolve(file) };
  if (isPostgresUrl(text)) return { kind: 'postgres', url: readPostgresUrl(text, CATALOG, refuse) };
  return refuse(
    CATALOG,
    'must be a database of Postgres, or a file of SQLite',
    'Write postgres://user@host/database, or sqlite:./catalog.sqlite. (A DuckDB file as the catalog would lock out readers while a sync writes.)',
  );
}

function readData(text: string, { resolve, refuse }: LakehouseScope): string {
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

/** Its folder holds nothing else: cleaning it up must not find files of others. */
export function findDuckLakeProblem(
  destinations: readonly Destination[],
  { neighbours, config, isIn }: Neighbourhood,
): Problem | undefined {
  const found = destinations.find((one) => one.kind === 'ducklake');
  if (found?.kind !== 'ducklake') return undefined;
  const { catalog, data } = found;
  const folder = data.includes('://') ? undefined : resolveLinks(data);
  const file = catalog.kind === 'sqlite' ? resolveLinks(catalog.file) : undefined;
  const taken = neighbours.find(([other]) => isIn(folder, other) || isIn(other, folder));
  if (taken !== undefined || isIn(config, folder))
    return {
      path: ['destination', 'ducklake', 'data'],
      message: `must not be the folder of ${taken?.[1] ?? 'the config'}, nor inside it or around it`,
      hint: 'Name a folder of its own, e.g. ./data.',
    };
  const near = neighbours.find(([other]) => isIn(file, other));
  if (near === undefined && !isIn(file, config)) return undefined;
  return {
    path: ['destination', 'ducklake', 'catalog'],
    message: `must not be ${near?.[1] ?? 'the config'}, nor inside it`,
    hint: 'Name a file elsewhere, e.g. sqlite:./catalog.sqlite.',
  };
}
