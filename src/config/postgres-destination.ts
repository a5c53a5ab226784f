import type { LakehouseScope, SharedPlace } from './lakehouse-settings.ts';
import { describeServer, listPasswords, readPostgresUrl } from './postgres-url.ts';
import type { Config } from '../model/config.ts';
import type { PostgresDestination } from '../model/destination.ts';

export const postgresPlace: SharedPlace = {
  kind: 'postgres',
  title: 'Postgres database',
  keys: ['url', 'schema'],
  own: 'schema',
  fallback: 'public',
};

/** The tables in Postgres of a config; undefined where it names none. */
export function resolvePostgres(
  { destination: { postgres } }: Config,
  { refuse, reach: { extensions } }: LakehouseScope,
): PostgresDestination | undefined {
  if (postgres === undefined) return undefined;
  const { schema = 'public' } = postgres;
  const url = readPostgresUrl(postgres.url, ['destination', 'postgres', 'url'], refuse);
  const path = `${describeServer(url)}.${schema}`;
  return { kind: 'postgres', path, url, schema, extensions, secrets: listPasswords(url) };
}
