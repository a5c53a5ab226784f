import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FleetSettings } from '../model/fleet.ts';
import type { FleetDatabase } from './database/sql.ts';
import { assertKey } from './parcel/seal-parcel.ts';
import { openStore } from './store/open-store.ts';
import type { StateStore } from './store/state-store.ts';

/** Below it nothing is ever stored. */
const NOBODY = 'sluice-fleet-try/';
/** A state that is larger is not fetched for its first bytes alone. */
const MOST_BYTES = 16 * 2 ** 20;

/**
 * Finds a store that refuses before a run does. Returns its place. There need not be any tables yet.
 *
 * @throws ConfigError (2), also for a package that is missing; StorageError (6)
 */
export function tryStore(settings: FleetSettings, database: FleetDatabase): Promise<string> {
  return withStore(settings, database, async (store) => {
    await store.list(NOBODY);
    return store.place;
  });
}

/**
 * Compares the encryption key with that of the state that was put away last. Returns whether there is one.
 *
 * @throws ConfigError (2) for another key, with which every run would end; StorageError (6)
 */
export async function tryEncryptionKey(settings: FleetSettings, database: FleetDatabase): Promise<boolean> {
  const newest = await findNewest(database);
  if (newest === undefined) return false;
  await withStore(settings, database, (store) => tryKey(store, newest, settings.encryptionKey));
  return true;
}

async function withStore<T>(
  { store: place, reach }: FleetSettings,
  database: FleetDatabase,
  work: (store: StateStore) => Promise<T>,
): Promise<T> {
  const store = await openStore(place, { reach, database });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

async function findNewest(database: FleetDatabase): Promise<string | undefined> {
  const [row] = await database.query(
    `SELECT object FROM sluice_fleet.accounts WHERE object IS NOT NULL AND
       (SELECT object_bytes FROM sluice_fleet.runs AS r WHERE r.account = accounts.account AND object_bytes IS NOT NULL
         ORDER BY r.token DESC LIMIT 1) <= $1 ORDER BY last_ended_at DESC NULLS LAST LIMIT 1`,
    [MOST_BYTES],
  );
  return typeof row?.['object'] === 'string' ? row['object'] : undefined;
}

async function tryKey(store: StateStore, name: string, key: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-fleet-'));
  try {
    const file = join(folder, 'state');
    // One that is missing or damaged is a matter of its account alone.
    if (await store.get(name, file)) await assertKey(file, { key, name });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
