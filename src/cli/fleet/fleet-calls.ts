import { homedir } from 'node:os';
import { readConfigFile } from '../../config/config-file.ts';
import { resolveFleet } from '../../config/fleet-settings.ts';
import { findHome } from '../../config/ledger-dir.ts';
import { askForRun, pauseAccount, resumeAccount } from '../../fleet/database/change-accounts.ts';
import { addAccounts } from '../../fleet/database/known-accounts.ts';
import { openFleetDatabase } from '../../fleet/database/open-database.ts';
import { AccountQueue } from '../../fleet/database/queue.ts';
import { readCleanRuns } from '../../fleet/database/read-clean-runs.ts';
import { readFleet } from '../../fleet/database/read-fleet.ts';
import { assertMigrated, FLEET_VERSION, migrateFleet } from '../../fleet/database/schema.ts';
import type { FleetDatabase } from '../../fleet/database/sql.ts';
import { repairFleetAccount } from '../../fleet/repair.ts';
import { openStore } from '../../fleet/store/open-store.ts';
import { tryEncryptionKey, tryStore } from '../../fleet/try-store.ts';
import type { FleetSettings } from '../../model/fleet.ts';
import type { FleetChange, FleetRepair, FleetStatus, RenderedFleetReport } from '../../model/fleet-report.ts';
import type { Paging } from '../../model/report-data.ts';
import { version } from '../../model/version.ts';
import { renderFleetReport } from '../../report/render-fleet-report.ts';
import { readSchedule } from './read-schedule.ts';
import type {
  FleetChangeKind,
  FleetConfig,
  FleetInit,
  FleetReader,
  RepairChoice,
} from '../frame/fleet-engine.ts';

/** A command has one statement at a time; reading the queue's tables takes a second connection. */
const CONNECTIONS = 2;

/** What a config says of its fleet. */
export function loadFleet({ path, env }: FleetConfig): Promise<FleetSettings> {
  const home = findHome(env, process.platform) ?? homedir();
  return Promise.resolve(resolveFleet(readConfigFile(path), { env, home }));
}

/** Makes the tables and the queue of a fleet, or brings them up to date. */
export async function initFleet(
  settings: FleetSettings,
  accounts: readonly string[],
  nowMs: number,
): Promise<FleetInit> {
  // Each worker would refuse it.
  readSchedule(settings, nowMs);
  return withDatabase(settings, async (database) => {
    // A wrong key or a missing bucket is found here, before anything is made, and not by the first run at night.
    const place = settings.store.kind === 'postgres' ? undefined : await tryStore(settings, database);
    const before = await migrateFleet(database);
    // Its table is among those that were just made.
    const store = place ?? (await tryStore(settings, database));
    await tryEncryptionKey(settings, database);
    await AccountQueue.migrate(database);
    const added = await addAccounts(database, accounts);
    return { database: settings.place, before, version: FLEET_VERSION, added, store };
  });
}

/** What a fleet is doing. */
export function readFleetOf(settings: FleetSettings, accounts: readonly string[]): Promise<FleetStatus> {
  return withFleet(settings, (database) =>
    readFleet(database, { known: accounts, leaseMs: settings.leaseMs }),
  );
}

/** Opens the database to read what a fleet is doing again and again. */
export async function openReader(settings: FleetSettings): Promise<FleetReader> {
  const { leaseMs } = settings;
  const database = await openFleetDatabase(settings, { name: 'sluice fleet metrics', connections: 1 });
  return {
    read: (known) => readFleet(database, { known, leaseMs }),
    close: () => database.close(),
  };
}

/** One HTML file of the whole fleet. */
export function makeFleetReport(
  settings: FleetSettings,
  accounts: readonly string[],
  paging?: Paging,
): Promise<RenderedFleetReport> {
  return withFleet(settings, async (database) => {
    const status = await readFleet(database, { known: accounts, leaseMs: settings.leaseMs });
    return renderFleetReport({ status, cleanRuns: await readCleanRuns(database), version }, paging);
  });
}

const CHANGES = {
  run: (database, account) => askForRun(database, account, { resumes: true, acceptsNewKey: false }),
  'run-with-new-key': (database, account) =>
    askForRun(database, account, { resumes: true, acceptsNewKey: true }),
  'run-unpaused': (database, account) =>
    askForRun(database, account, { resumes: false, acceptsNewKey: false }),
  pause: pauseAccount,
  resume: resumeAccount,
} as const satisfies Readonly<
  Record<FleetChangeKind, (database: FleetDatabase, account: string) => Promise<FleetChange>>
>;

/** Changes accounts, one after the other. */
export function changeAccounts(
  settings: FleetSettings,
  accounts: readonly string[],
  what: FleetChangeKind,
): Promise<readonly FleetChange[]> {
  return withFleet(settings, async (database) => {
    const changes: FleetChange[] = [];
    for (const account of accounts) changes.push(await CHANGES[what](database, account));
    return changes;
  });
}

/** Ends the lease of an account, and names what killed runs left in the store. */
export function repairAccount(
  settings: FleetSettings,
  account: string,
  choice: RepairChoice,
): Promise<FleetRepair> {
  return withFleet(settings, async (database) => {
    const store = await openStore(settings.store, { reach: settings.reach, database });
    try {
      return await repairFleetAccount({ database, store }, account, choice);
    } finally {
      await store.close();
    }
  });
}

function withFleet<T>(settings: FleetSettings, work: (database: FleetDatabase) => Promise<T>): Promise<T> {
  return withDatabase(settings, async (database) => {
    await assertMigrated(database);
    return work(database);
  });
}

async function withDatabase<T>(
  settings: FleetSettings,
  work: (database: FleetDatabase) => Promise<T>,
): Promise<T> {
  const database = await openFleetDatabase(settings, { name: 'sluice fleet', connections: CONNECTIONS });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}
