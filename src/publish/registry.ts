import type { Destination, OfflineSettings } from '../model/settings.ts';
import { DuckdbFilePublisher } from './duckdb-file/duckdb-file-publisher.ts';
import { DuckLakePublisher } from './ducklake/ducklake-publisher.ts';
import { LakePublisher } from './lake/lake-publisher.ts';
import type { Publisher } from './publisher.ts';

/** The publishers of a config, in the order in which people read the destinations. */
export function listPublishers(settings: OfflineSettings): readonly Publisher[] {
  return settings.destinations.map((destination) => create(destination, settings));
}

function create(destination: Destination, settings: OfflineSettings): Publisher {
  switch (destination.kind) {
    case 'duckdb':
      return new DuckdbFilePublisher(destination.path, settings);
    case 'parquet':
      return new LakePublisher(destination.path, settings);
    case 'ducklake':
      return new DuckLakePublisher(destination, settings);
  }
}
