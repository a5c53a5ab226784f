import type { EngineReach } from '../../model/destination.ts';
import { BugError } from '../../model/errors.ts';
import { FolderStore } from './folder-store.ts';
import type { StateStore } from './state-store.ts';
import { type ObjectDatabase, PostgresStore } from './postgres-store.ts';
import { openBucket, type Patience } from './s3-sdk.ts';
import { S3Store } from './s3-store.ts';
import type { StorePlace } from '../../model/fleet.ts';

const TABLE = 'sluice_fleet.objects';

/** What stores need from outside. */
export interface StoreScope {
  /** How a bucket is reached. */
  readonly reach: Pick<EngineReach, 'store'>;
  /** The database of the fleet; only a store in Postgres needs it. */
  readonly database?: ObjectDatabase;
  readonly patience?: Patience;
}

/**
 * Opens the store of a fleet; nothing is requested yet.
 *
 * @throws ConfigError (2) if a package is not installed
 */
export async function openStore(
  place: StorePlace,
  { reach, database, patience }: StoreScope,
): Promise<StateStore> {
  if (place.kind === 'folder') return new FolderStore(place.path);
  if (place.kind === 's3') {
    const bucket = await openBucket(place.bucket, reach.store, patience);
    return new S3Store(bucket, place.prefix, reach.store.keys);
  }
  if (database !== undefined) return new PostgresStore(database, TABLE);
  throw new BugError('a store in Postgres was opened without its database', {
    code: 'bug',
    hint: 'This is a bug in Sluice; nothing was changed. Please report it with the text above.',
  });
}
