import type { Destination, OfflineSettings } from '../model/settings.ts';
import { DuckdbFilePublisher } from './duckdb-file/duckdb-file-publisher.ts';
import { LakePublisher } from './lake/lake-publisher.ts';
import type { Publisher } from './publisher.ts';

type Create = (destination: Destination, settings: OfflineSettings) => Publisher;

const publishers: Readonly<Record<Destination['kind'], Create>> = {
  duckdb: ({ path }, settings) => new DuckdbFilePublisher(path, settings),
  parquet: ({ path }, settings) => new LakePublisher(path, settings),
};

/** The publishers of a config, in the order in which people read the destinations. */
export function listPublishers(settings: OfflineSettings): readonly Publisher[] {
  return settings.destinations.map((destination) => publishers[destination.kind](destination, settings));
}
