import { StorageError, toSyncError } from '../model/errors.ts';
import type { FleetChange, FleetRepair } from '../model/fleet-report.ts';
import { freeAccount } from './database/change-accounts.ts';
import type { FleetDatabase } from './database/sql.ts';
import type { StateStore } from './store/state-store.ts';

/** What a repair works on. */
export interface RepairParts {
  readonly database: FleetDatabase;
  readonly store: StateStore;
}

/** What a repair does besides ending a lease. */
export interface RepairOptions {
  readonly forgetsState: boolean;
  readonly removesOrphans: boolean;
  /** The config has the account; else only the fleet may know it. */
  readonly isInConfig: boolean;
}

/**
 * Ends the lease of an account, and finds objects of it that nobody needs.
 *
 * @throws ConfigError (2) for an account that nobody knows
 * @throws StorageError (6) if the store cannot be reached: the lease is ended then
 */
export async function repairFleetAccount(
  { database, store }: RepairParts,
  account: string,
  { forgetsState, removesOrphans, isInConfig }: RepairOptions,
): Promise<FleetRepair> {
  const change = await freeAccount(database, account, { forgetsState, isInConfig });
  const found = await listObjects(store, change);
  // Read after the list: what a run recorded meanwhile is kept, and while one is at work nothing is judged.
  const [row] = await database.query(
    'SELECT object, stages, holder IS NOT NULL AS is_held FROM sluice_fleet.accounts WHERE account = $1',
    [account],
  );
  const kept = new Set([row?.['object'], ...((row?.['stages'] as readonly string[] | null) ?? [])]);
  const orphans = row?.['is_held'] === true ? [] : found.filter((name) => !kept.has(name));
  if (removesOrphans) await store.remove(orphans);
  return { ...change, orphans, isRemoved: removesOrphans && orphans.length > 0, isForgotten: forgetsState };
}

async function listObjects(store: StateStore, { account, outcome }: FleetChange): Promise<readonly string[]> {
  try {
    return (await store.list(`${account}/`)).map(({ name }) => name);
  } catch (thrown) {
    const { message, code } = toSyncError(thrown);
    const done = outcome === 'freed' ? 'was freed' : 'was not held by a worker';
    throw new StorageError(
      `${account} ${done}, but what is left of it in the store was not found: ${message}`,
      {
        code,
        hint: `Its next run may begin. Run \`sluice fleet repair ${account}\` once the store answers, to see what is left in it.`,
        context: { path: store.place },
        cause: thrown,
      },
    );
  }
}
