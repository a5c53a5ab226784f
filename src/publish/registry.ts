import type { Destination } from '../model/destination.ts';
import type { OfflineSettings } from '../model/settings.ts';
import { DuckdbFilePublisher } from './duckdb-file/duckdb-file-publisher.ts';
import { LakePublisher } from './lake/lake-publisher.ts';
import { DuckLake } from './lakehouse/ducklake/ducklake.ts';
import { exportIceberg } from './lakehouse/iceberg/export-iceberg.ts';
import { Iceberg } from './lakehouse/iceberg/iceberg.ts';
import { MotherDuck } from './lakehouse/motherduck/motherduck.ts';
import { Postgres } from './lakehouse/postgres/postgres.ts';
import { LakehousePublisher } from './lakehouse/lakehouse-publisher.ts';
import type { Exporter } from './exporter.ts';
import type { Publisher } from './publisher.ts';

/** What writes copies of tables that no catalog lists. */
export const exporters: Readonly<Record<'iceberg', Exporter>> = { iceberg: exportIceberg };

/** The publishers of a config, in the order in which people read the destinations. */
export function listPublishers(settings: OfflineSettings): readonly Publisher[] {
  const made = known.get(settings) ?? settings.destinations.map((one) => create(one, settings));
  known.set(settings, made);
  return made;
}

/** A run asks for them several times, and what one of them found on a server need not be asked for again. */
const known = new WeakMap<OfflineSettings, readonly Publisher[]>();

function create(destination: Destination, settings: OfflineSettings): Publisher {
  switch (destination.kind) {
    case 'duckdb':
      return new DuckdbFilePublisher(destination.path, settings);
    case 'parquet':
      return new LakePublisher(destination.path, settings);
    case 'ducklake':
      return new LakehousePublisher(new DuckLake(destination), settings);
    case 'iceberg':
      return new LakehousePublisher(new Iceberg(destination), settings);
    case 'postgres':
      return new LakehousePublisher(new Postgres(destination), settings);
    case 'motherduck':
      return new LakehousePublisher(new MotherDuck(destination), settings);
  }
}
