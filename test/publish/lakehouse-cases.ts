import { randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { ConfigInput } from '../../src/model/config.ts';
import { DuckLake } from '../../src/publish/lakehouse/ducklake/ducklake.ts';
import { Iceberg } from '../../src/publish/lakehouse/iceberg/iceberg.ts';
import { LakehousePublisher } from '../../src/publish/lakehouse/lakehouse-publisher.ts';
import { MotherDuck } from '../../src/publish/lakehouse/motherduck/motherduck.ts';
import { Postgres } from '../../src/publish/lakehouse/postgres/postgres.ts';
import { quoteLiteral } from '../../src/warehouse/identifiers.ts';
import { type LakeReader, openLakeReader, openReader } from '../support/ducklake-reader.ts';
import { findExtensions } from '../support/lake-servers.ts';
import type { PublisherCase } from './publish-world.ts';

const engine = { extensionDirectory: findExtensions() ?? '' };
/** Publishers of a test stand for machines that do not wait for each other: one may be held at any step. */
const likeAnotherMachine = () => ({ turn: randomUUID(), longestWaitMs: 0 });
const SELECT = 'SELECT value FROM lake.main.items ORDER BY value';

export const duckLake: PublisherCase = {
  destination: () => ({ ducklake: { catalog: 'sqlite:./out/catalog.sqlite', data: './out/data' } }),
  config: { engine },
  // Small changes are in the catalog, which changes in one step.
  leastStates: 2,
  diskStride: 18,
  place: (folder) => join(folder, 'out', 'catalog.sqlite'),
  create: (settings, place) => {
    const lake = settings.destinations.find(({ kind }) => kind === 'ducklake');
    if (lake?.kind !== 'ducklake') throw new TypeError('the config names no lake');
    const catalog = { kind: 'sqlite', file: place } as const;
    const data = join(dirname(place), 'data');
    return new LakehousePublisher(
      new DuckLake({ ...lake, path: place, catalog, data }, likeAnotherMachine()),
      settings,
    );
  },
  read: async (place) => {
    if (!existsSync(place)) return undefined;
    const reader = await openLakeReader(`sqlite:${place}`);
    // A killed first publish leaves a catalog without tables.
    return reader
      .values(SELECT)
      .catch(() => undefined)
      .finally(() => reader.close());
  },
  openReader: async (place) => {
    const reader = await openLakeReader(`sqlite:${place}`);
    await reader.run('BEGIN');
    return { read: () => reader.values(SELECT), close: () => reader.close() };
  },
  damage: async (place) => {
    const writer = await openLakeReader(`sqlite:${place}`, '');
    await writer.run('UPDATE lake.main.items SET value = 99 WHERE id = 0');
    writer.close();
  },
};

/** A DuckDB database in the place of MotherDuck, for tests that put `attachDatabase` of the support in its place. */
export const motherDuck: PublisherCase = {
  destination: (folder) => ({ motherduck: { database: 'company', token: join(folder, 'service.duckdb') } }),
  // A file of the engine changes in few steps.
  leastStates: 2,
  diskStride: 18,
  tellsSize: false,
  place: (folder) => join(folder, 'out', 'service.duckdb'),
  create: (settings, place) => {
    const found = settings.destinations.find(({ kind }) => kind === 'motherduck');
    if (found?.kind !== 'motherduck') throw new TypeError('the config names no database');
    mkdirSync(join(dirname(place), 'data', 'main'), { recursive: true });
    mkdirSync(join(dirname(place), 'data', '_sluice'), { recursive: true });
    return new LakehousePublisher(new MotherDuck({ ...found, token: place }), settings);
  },
  read: (place) => readFile(place),
  // An engine that has the file open would keep others of this process from seeing its locks: a reader's snapshot is the
  // service's own affair, and a copy stands for it.
  openReader: async (place) => {
    const copy = `${place}.seen`;
    copyFileSync(place, copy);
    const reader = await openFile(copy);
    return { read: () => reader.values(SELECT), close: () => reader.close() };
  },
  occupy: (place) =>
    changeFile(place, 'CREATE SCHEMA lake._sluice', 'CREATE TABLE lake._sluice.meta (x INTEGER)'),
  damage: (place) => changeFile(place, 'UPDATE lake.main.items SET value = 99 WHERE id = 0'),
};

/** The same in a DuckLake: two engines can have that open at once. */
export const motherDuckOfTwo: PublisherCase = {
  ...motherDuck,
  config: { engine },
  place: (folder) => join(folder, 'out', 'catalog.sqlite'),
  read: (place) => duckLake.read(place),
  openReader: (place) => duckLake.openReader(place),
  damage: (place) => duckLake.damage(place),
};

function openFile(file: string, options = 'READ_ONLY'): Promise<LakeReader> {
  return openReader([], [`ATTACH ${quoteLiteral(file)} AS lake ${options === '' ? '' : `(${options})`}`]);
}

async function readFile(file: string): Promise<readonly number[] | undefined> {
  if (!existsSync(file)) return undefined;
  const reader = await openFile(file);
  return reader
    .values(SELECT)
    .catch(() => undefined)
    .finally(() => {
      reader.close();
    });
}

async function changeFile(file: string, ...statements: readonly string[]): Promise<void> {
  const writer = await openFile(file, '');
  for (const statement of statements) await writer.run(statement);
  writer.close();
}

/** A lakehouse on a server; its place is the name of a schema. */
export function makeServerCase(
  destination: NonNullable<ConfigInput['destination']>,
  open: () => Promise<LakeReader>,
): PublisherCase {
  return {
    destination: () => destination,
    config: { engine },
    place: (folder) =>
      basename(folder)
        .toLowerCase()
        .replaceAll(/[^a-z0-9]/g, '_'),
    create: (settings, schema) => {
      const [found] = settings.destinations;
      if (found?.kind === 'postgres')
        return new LakehousePublisher(new Postgres({ ...found, schema }), settings);
      if (found?.kind === 'iceberg')
        return new LakehousePublisher(new Iceberg({ ...found, schema }), settings);
      if (found?.kind === 'ducklake')
        return new LakehousePublisher(new DuckLake({ ...found, schema }, likeAnotherMachine()), settings);
      throw new TypeError('the config names no lakehouse');
    },
    read: async (schema) => {
      const reader = await open();
      return reader
        .values(`SELECT value FROM lake.${schema}.items ORDER BY value`)
        .catch(() => undefined)
        .finally(() => {
          reader.close();
        });
    },
    openReader: () => Promise.reject(new Error('not used')),
    damage: () => Promise.reject(new Error('not used')),
  };
}
