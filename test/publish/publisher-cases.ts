import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckdbFilePublisher } from '../../src/publish/duckdb-file/duckdb-file-publisher.ts';
import { LakePublisher } from '../../src/publish/lake/lake-publisher.ts';
import { changeFile } from '../support/damage-file.ts';
import { globOf, openLakeReader, queryFiles } from '../support/read-lake.ts';
import type { PublisherCase } from './publish-world.ts';

const VALUES = 'SELECT value FROM';

export const duckdbFile: PublisherCase = {
  destination: () => ({ duckdb: './out/warehouse.duckdb' }),
  place: (folder) => join(folder, 'out', 'warehouse.duckdb'),
  create: (settings, place) => new DuckdbFilePublisher(place, settings),
  read: async (place) => (existsSync(place) ? readCatalog(place) : undefined),
  openReader: (place) => openCatalog(place),
  damage: (place) => changeFile(place, 'UPDATE items SET value = 99 WHERE id = 0'),
};

export const lake: PublisherCase = {
  destination: () => ({ parquet: './out/lake' }),
  place: (folder) => join(folder, 'out', 'lake'),
  create: (settings, place) => new LakePublisher(place, settings),
  read: async (place) => {
    const current = join(place, 'items', 'current');
    return existsSync(current) ? toValues(await queryFiles(`${VALUES} ${globOf(place)}`)) : undefined;
  },
  openReader: (place) => openCatalog(join(place, 'lake.duckdb')),
  damage: (place) => {
    const folder = join(place, 'items', 'current');
    const [file = ''] = readdirSync(folder);
    const content = readFileSync(join(folder, file));
    writeFileSync(join(folder, file), content.subarray(0, content.length - 1));
    return Promise.resolve();
  },
};

async function openCatalog(file: string) {
  const reader = await openLakeReader(file);
  const read = async () => toValues(await reader.query(`${VALUES} items`));
  return { read, close: () => reader.close() };
}

async function readCatalog(file: string): Promise<readonly number[]> {
  return toValues(await queryFiles(`${VALUES} items`, file));
}

function toValues(rows: readonly Readonly<Record<string, unknown>>[]): readonly number[] {
  return rows.map(({ value }) => Number(value)).toSorted((a, b) => a - b);
}
