import { chmodSync, existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { makeFolders } from '../files/make-folders.ts';
import { migrate, readMeta, writeEntries } from '../../state/migrations.ts';
import { assertIdentity, describeOwner } from '../../state/owner.ts';
import { proveState } from '../../state/prove-state.ts';
import { workFile } from '../../state/work-file.ts';
import { toAbortError } from '../model/abort.ts';
import { type Clock, systemClock } from '../model/clock.ts';
import { BugError, LockedError, PublishError } from '../model/errors.ts';
import type { OfflineSettings, Settings } from '../model/settings.ts';
import { inPublishOrder } from '../publish/publish-all.ts';
import { listPublishers } from '../publish/registry.ts';
import type { Lease } from '../model/state-lock.ts';
import { Database } from '../warehouse/database.ts';
import type { DatabaseOptions } from '../warehouse/database-options.ts';
import { DamagedFileError, OutdatedFileError } from '../warehouse/database-errors.ts';
import { checkReadable } from '../warehouse/check-readable.ts';
import { describeNetworkDisks } from './network-disk.ts';
import {
  clearUnbegun,
  describeUnrestorable,
  findLostState,
  isUnbegun,
  listStateSources,
  restoreWorkFile,
} from './restore-work-file.ts';
import { removeWorkCopy } from './work-copy.ts';

// A program that only reads the file finishes soon; no request is spent before it does.
const LOCK_PATIENCE_MS = 10_000;
const LOCK_RETRY_MS = 250;

/** What opening takes from its caller, each with a default. */
export interface OpenEffects {
  readonly clock?: Clock;
  readonly signal?: AbortSignal | undefined;
  /** Aborted once another run may hold the state; nothing is written from then on. */
  readonly lost?: AbortSignal | undefined;
  /** Called when a damaged file was replaced, and for a disk with unreliable locks. */
  readonly onWarning?: (message: string) => void;
  /** Called with the source of a restored state if there was none, as in a new container. */
  readonly onNote?: (message: string) => void;
}

/**
 * Opens the work file for a run that holds the state lock. Creates it or, if it is missing or damaged, restores it
 * from what is published, which carries its own state. Migrates its tables, and rejects the state of a different
 * source.
 */
export async function openWarehouse(settings: Settings, effects: OpenEffects = {}): Promise<Database> {
  const file = workFile(settings.stateDir);
  const own = [join(settings.stateDir, 'tmp'), join(settings.stateDir, 'stage')];
  for (const folder of own) makeFolders(folder, 0o700);
  const shared = listPublishers(settings).flatMap(({ local }) => local?.engineFolders ?? []);
  const folders = [...own, ...shared];
  for (const warning of describeNetworkDisks(settings)) effects.onWarning?.(warning);
  await removeWorkCopy(settings.stateDir);
  const open = () => openWhenFree({ file, isSizedByFile: true, folders, endedBy: effects.lost }, effects);
  // A destination elsewhere is asked for a state only if there is none.
  if (existsSync(file) && !isUnbegun(file)) return openOrRestore(settings, effects, open);
  if ((await listStateSources(settings)).length > 0) {
    if (!existsSync(file)) return openRestored(settings, effects, open);
  } else {
    const keptAs = await clearUnbegun(file, nowOf(effects));
    if (keptAs !== undefined)
      effects.onNote?.(
        `${file} was too short to hold a state: it is kept as ${basename(keptAs)}, and nothing is published to restore it from`,
      );
    const loss = existsSync(file) ? undefined : await findLostState(settings);
    if (loss !== undefined) throw loss;
  }
  return openOrRestore(settings, effects, open);
}

async function openOrRestore(
  settings: Settings,
  effects: OpenEffects,
  open: () => Promise<Database>,
): Promise<Database> {
  try {
    return await openPrepared(settings, open);
  } catch (error) {
    if (!(error instanceof DamagedFileError) || (await listStateSources(settings)).length === 0) throw error;
    return openRestored(settings, effects, open, error);
  }
}

/**
 * Replaces a work file that turned out to be damaged in use by what is published; `database` is then open on that.
 *
 * @returns false if nothing is published: the damaged one stays in place
 */
export async function replaceDamaged(
  database: Database,
  settings: Settings,
  damage: DamagedFileError,
  effects: OpenEffects,
): Promise<boolean> {
  if ((await listStateSources(settings)).length === 0) return false;
  await database.release();
  const reopen = async () => {
    await database.reopen();
    return database;
  };
  await openRestored(settings, effects, reopen, damage);
  return true;
}

async function openRestored(
  settings: Settings,
  effects: OpenEffects,
  open: () => Promise<Database>,
  damage?: DamagedFileError,
): Promise<Database> {
  const sources = await listSources(settings, damage);
  const how = { nowMs: nowOf(effects), isUsable: damage instanceof OutdatedFileError };
  for (const [at, source] of sources.entries()) {
    try {
      const restored = await restoreWorkFile(settings, source, how);
      const database = await openPlaced(settings, open);
      if (damage === undefined) effects.onNote?.(`there was no state in ${settings.stateDir}; ${restored}`);
      else effects.onWarning?.(`${damage.message}; ${restored}`);
      return database;
    } catch (error) {
      if (!(error instanceof DamagedFileError)) throw error;
      if (at === sources.length - 1) throw describeUnrestorable(source.place, error);
    }
  }
  throw new BugError('there is nothing to restore the state from', {
    code: 'bug',
    hint: 'Please report it.',
  });
}

/** An unusable copy must not stay in the place of the work file. */
async function openPlaced(settings: Settings, open: () => Promise<Database>): Promise<Database> {
  try {
    return await openPrepared(settings, open, 'all');
  } catch (error) {
    await rm(workFile(settings.stateDir), { force: true });
    throw error;
  }
}

/** An outdated file is replaced by what it lacks, which is not in every destination. */
async function listSources(
  settings: Settings,
  damage: DamagedFileError | undefined,
): Promise<Awaited<ReturnType<typeof listStateSources>>> {
  const sources = await listStateSources(settings);
  const newest = damage instanceof OutdatedFileError ? damage.place : undefined;
  return [...sources].sort((a, b) => Number(b.place === newest) - Number(a.place === newest));
}

/** @param proved what is read completely; if a restored file is damaged, the next source is used */
async function openPrepared(
  settings: Settings,
  open: () => Promise<Database>,
  proved: 'state' | 'all' = 'state',
): Promise<Database> {
  const database = await open();
  try {
    makePrivate(database.file);
    await database.transaction(async () => {
      await migrate(database, database.file);
      await proveState(database, database.file);
      await claimIdentity(database, settings);
    });
    await checkReadable(database, proved === 'state' ? '_sluice' : undefined);
    return database;
  } catch (error) {
    await database.release();
    throw error;
  }
}

// The engine creates its files readable by everybody.
function makePrivate(file: string): void {
  for (const name of [file, `${file}.wal`]) if (existsSync(name)) chmodSync(name, 0o600);
}

async function openWhenFree(options: DatabaseOptions, effects: OpenEffects): Promise<Database> {
  const { clock = systemClock, signal } = effects;
  const endMs = clock.monotonic() + LOCK_PATIENCE_MS;
  for (;;) {
    try {
      return await Database.open(options);
    } catch (error) {
      if (!(error instanceof LockedError) || clock.monotonic() >= endMs) throw error;
    }
    if (signal?.aborted === true) throw toAbortError(signal);
    await clock.sleep(LOCK_RETRY_MS);
  }
}

function nowOf({ clock = systemClock }: OpenEffects): number {
  return clock.now();
}

// Rows of two sources in one table could never be separated again. A new key is not a new source: keys expire.
async function claimIdentity(database: Database, settings: Settings): Promise<void> {
  const meta = await readMeta(database);
  assertIdentity(meta, settings);
  const changed = describeOwner(settings).filter(([name, value]) => meta.get(name) !== value);
  await writeEntries(database, new Map(changed));
}

/**
 * Refuses to replace a destination that is not ours, before requests are spent on data that could not be published.
 * What we published is recognised without opening it, as a user may have it open for writing.
 */
export async function assertTargetIsOurs(settings: OfflineSettings, signal?: AbortSignal): Promise<void> {
  for (const publisher of inPublishOrder(listPublishers(settings))) {
    await publisher.claim(signal).catch((thrown: unknown) => {
      throw sayNothingRequested(thrown);
    });
  }
}

// Most hints of a publisher are written for the end of a sync.
function sayNothingRequested(thrown: unknown): unknown {
  if (!(thrown instanceof PublishError) || /nothing was requested/i.test(thrown.hint)) return thrown;
  return thrown.withHint(`${thrown.hint} Nothing was requested.`);
}

/**
 * Makes every destination refuse what an overtaken run may still publish, before anything there is compared. A takeover
 * that fails stays one for the next holder.
 */
export async function takeOverTargets(settings: OfflineSettings, lease: Lease): Promise<void> {
  for (const publisher of inPublishOrder(listPublishers(settings))) await publisher.takeOver?.(lease);
  await lease.settle?.();
}
