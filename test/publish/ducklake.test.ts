import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DuckLake } from '../../src/publish/lakehouse/ducklake/ducklake.ts';
import { LakehousePublisher } from '../../src/publish/lakehouse/lakehouse-publisher.ts';
import { openLakeReader } from '../support/ducklake-reader.ts';
import { findExtensions } from '../support/lake-servers.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { describePublisher } from './publisher-conformance.ts';

const SELECT = 'SELECT value FROM lake.main.items ORDER BY value';

describeWithServers('a DuckLake with a catalog and data on this machine', () => {
  const extensionDirectory = findExtensions() ?? '';
  describePublisher('a DuckLake', {
    destination: () => ({ ducklake: { catalog: 'sqlite:./out/catalog.sqlite', data: './out/data' } }),
    config: { engine: { extensionDirectory } },
    // Small changes are in the catalog, which changes in one step.
    leastStates: 2,
    place: (folder) => join(folder, 'out', 'catalog.sqlite'),
    create: (settings, place) => {
      const lake = settings.destinations.find(({ kind }) => kind === 'ducklake');
      if (lake?.kind !== 'ducklake') throw new TypeError('the config names no lake');
      const catalog = { kind: 'sqlite', file: place } as const;
      const data = join(dirname(place), 'data');
      return new LakehousePublisher(new DuckLake({ ...lake, path: place, catalog, data }), settings);
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
  });
});
