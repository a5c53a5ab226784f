import { openFleetDatabase } from '../../fleet/database/open-database.ts';
import { loadPg, loadPgBoss, PG_BOSS_VERSION } from '../../fleet/database/packages.ts';
import { assertMigrated, FLEET_VERSION } from '../../fleet/database/schema.ts';
import { tryEncryptionKey, tryStore } from '../../fleet/try-store.ts';
import { loadTar } from '../../fleet/parcel/tar-stream.ts';
import { openBucket } from '../../fleet/store/s3-sdk.ts';
import { systemClock } from '../../model/clock.ts';
import { type ExitCode, toSyncError } from '../../model/errors.ts';
import type { FleetSettings } from '../../model/fleet.ts';
import type { CheckItem } from '../../model/reports.ts';
import type { FleetCheck, FleetConfig } from '../frame/fleet-engine.ts';
import { loadFleet } from './fleet-calls.ts';
import { readSchedule } from './read-schedule.ts';

/** Tries what the fleet of a config needs beside its accounts. */
export async function checkFleet(config: FleetConfig): Promise<FleetCheck> {
  const check = new Check();
  const settings = await check.try('fleet', async () => {
    const found = await loadFleet(config);
    return [found, found.place] as const;
  });
  if (settings === undefined) return check.result;
  await check.try('schedule', () => {
    readSchedule(settings, systemClock.now());
    return Promise.resolve([undefined, describeSchedule(settings)] as const);
  });
  if (!(await checkPackages(check, settings))) return check.result;
  const database = await openFleetDatabase(settings, { name: 'sluice check', connections: 1 });
  try {
    const hasTables = await check.try('database', async () => {
      await assertMigrated(database);
      return [true, `${settings.place} has tables of version ${FLEET_VERSION}`] as const;
    });
    // The store may be another server: it is tried although the database is away.
    await check.try(
      'store',
      async () => [undefined, `${await tryStore(settings, database)} answers`] as const,
    );
    if (hasTables === true)
      await check.try('states', async () => {
        const isThere = await tryEncryptionKey(settings, database);
        return [
          undefined,
          isThere ? 'the encryption key opens the newest one' : 'none is stored yet',
        ] as const;
      });
  } finally {
    await database.close();
  }
  return check.result;
}

/** Items one after the other, and the exit code of the first that failed. */
class Check {
  readonly #items: CheckItem[] = [];
  #exitCode: ExitCode = 0;

  get result(): FleetCheck {
    return { items: this.#items, exitCode: this.#exitCode };
  }

  add(item: CheckItem): void {
    this.#items.push(item);
  }

  /** @param work returns a value, and what is said of it; undefined if it throws */
  async try<T>(name: string, work: () => Promise<readonly [T, string]>): Promise<T | undefined> {
    try {
      const [value, detail] = await work();
      this.add({ name, status: 'ok', detail, fix: undefined });
      return value;
    } catch (thrown) {
      const { message, hint, exitCode } = toSyncError(thrown);
      if (this.#exitCode === 0) this.#exitCode = exitCode;
      this.add({ name, status: 'failed', detail: message, fix: hint });
      return undefined;
    }
  }
}

function describeSchedule({ schedule }: FleetSettings): string {
  return schedule === undefined
    ? 'none: accounts are synced when somebody asks'
    : `${schedule.expression} (${schedule.timezone})`;
}

/** Whether all packages are there. Commands other than those of a fleet work without them. */
async function checkPackages(check: Check, { store, reach }: FleetSettings): Promise<boolean> {
  const packages: readonly (readonly [name: string, load: () => Promise<unknown>])[] = [
    ['pg', loadPg],
    [`pg-boss@${PG_BOSS_VERSION}`, loadPgBoss],
    ['tar', loadTar],
    ...(store.kind === 's3'
      ? ([['@aws-sdk/client-s3', () => openBucket(store.bucket, reach.store)]] as const)
      : []),
  ];
  const missing: string[] = [];
  for (const [name, load] of packages)
    await load().catch(() => {
      missing.push(name);
    });
  if (missing.length === 0) return true;
  check.add({
    name: 'packages',
    status: 'warning',
    detail: `not installed: ${missing.join(', ')}; database and store were not tried`,
    fix: `Run npm install ${missing.join(' ')} where Sluice is installed, if this machine is to work for the fleet.`,
  });
  return false;
}
