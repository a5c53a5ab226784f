import { accessSync, chmodSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { migrate, readMeta, writeMeta } from '../../state/migrations.ts';
import { proveState } from '../../state/prove-state.ts';
import { isPublishedFile, readPublishedRecord } from '../../state/published-record.ts';
import { toAbortError } from '../model/abort.ts';
import { type Clock, systemClock } from '../model/clock.ts';
import { BugError, ConfigError, LockedError, PublishError, type SyncError } from '../model/errors.ts';
import type { Settings } from '../model/settings.ts';
import { assertLakeIsOurs, hasLostItsState, type LakeOwner } from '../publish/lake/assert-lake.ts';
import { Database, type DatabaseOptions } from '../warehouse/database.ts';
import { DamagedFileError } from '../warehouse/database-errors.ts';
import { historyOf } from '../warehouse/evolve-table.ts';
import { checkReadable } from '../warehouse/check-readable.ts';
import { describeNetworkDisks } from './network-disk.ts';
import {
  clearUnbegun,
  describeLostState,
  describeUnrestorable,
  listStateSources,
  restoreWorkFile,
} from './restore-work-file.ts';
import { workFile } from './state-folder.ts';
import { removeWorkCopy } from './work-copy.ts';

// A program that only reads the file finishes soon; no request is spent before it does.
const LOCK_PATIENCE_MS = 10_000;
const LOCK_RETRY_MS = 250;

/** What opening takes from its caller, each with a default. */
export interface OpenEffects {
  readonly clock?: Clock;
  readonly signal?: AbortSignal | undefined;
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
  for (const folder of own) mkdirSync(folder, { recursive: true, mode: 0o700 });
  const folders = settings.lakePath === undefined ? own : [...own, settings.lakePath];
  for (const warning of describeNetworkDisks(settings)) effects.onWarning?.(warning);
  await removeWorkCopy(settings.stateDir);
  const open = () => openWhenFree({ file, folders }, effects);
  if (listStateSources(settings).length > 0) {
    if (!existsSync(file)) return openRestored(settings, effects, open);
  } else {
    await clearUnbegun(file, nowOf(effects));
    if (!existsSync(file) && hasLostItsState(settings.lakePath))
      throw describeLostState(settings.stateDir, settings.lakePath);
  }
  try {
    return await openPrepared(settings, open);
  } catch (error) {
    if (!(error instanceof DamagedFileError) || listStateSources(settings).length === 0) throw error;
    return openRestored(settings, effects, open, error);
  }
}

/**
 * Replaces a work file that turned out to be damaged in use by what is published; `database` is then open on that.
 *
 * @returns false when nothing is published: the damaged one stays where it is
 */
export async function replaceDamaged(
  database: Database,
  settings: Settings,
  damage: DamagedFileError,
  effects: OpenEffects,
): Promise<boolean> {
  if (listStateSources(settings).length === 0) return false;
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
  const sources = listStateSources(settings);
  for (const [at, source] of sources.entries()) {
    const restored = await restoreWorkFile(settings, source, nowOf(effects));
    try {
      const database = await openPrepared(settings, open, 'all');
      if (damage === undefined) effects.onNote?.(`there was no state in ${settings.stateDir}; ${restored}`);
      else effects.onWarning?.(`${damage.message}; ${restored}`);
      return database;
    } catch (error) {
      // An unusable copy must not stay in the place of the work file.
      await rm(workFile(settings.stateDir), { force: true });
      if (!(error instanceof DamagedFileError)) throw error;
      if (at === sources.length - 1) throw describeUnrestorable(source.path, error);
    }
  }
  throw new BugError('there is nothing to restore the state from', {
    code: 'bug',
    hint: 'Please report it.',
  });
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

// The engine creates its files for everybody to read.
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
  for (const [name, value] of identityOf(settings)) {
    if (meta.get(name) !== value) await writeMeta(database, name, value);
  }
}

function identityOf(settings: Settings): readonly (readonly [string, string])[] {
  const { connector, baseUrl } = ownerOf(settings);
  return [
    ['connector', connector],
    ['base_url', baseUrl],
  ];
}

/** Whose rows these are, as what is published says it. */
export function ownerOf(settings: Pick<Settings, 'connector' | 'baseUrl'>): LakeOwner {
  return { connector: settings.connector.name, baseUrl: settings.baseUrl.href.replace(/\/$/, '') };
}

/** What the entries of `_sluice.meta` are called in config. */
const WORDS: Readonly<Record<string, string>> = { base_url: 'baseUrl' };

/** Rejects a state with rows of a different source; `meta` is the content of its `_sluice.meta`. */
export function assertIdentity(
  meta: ReadonlyMap<string, string>,
  settings: Settings,
  where = `the state in ${settings.stateDir}`,
): void {
  // Before the first commit there is nothing to mix with: a mistyped URL can be corrected.
  if (!meta.has('generation')) return;
  for (const [name, value] of identityOf(settings)) {
    const held = meta.get(name);
    if (held !== undefined && held !== value) {
      throw new ConfigError(
        `${where} belongs to ${WORDS[name] ?? name} ${held}, but the config says ${value}`,
        {
          code: 'identity_mismatch',
          hint: 'Set another stateDir and destination for this source, or set the old value again. Nothing was requested.',
          context: { path: settings.stateDir },
        },
      );
    }
  }
}

/**
 * Refuses to replace a file or a lake that is not ours, before requests are spent on data that could not be
 * published. A file we published is recognised without opening it, as a user may have it open for writing.
 */
export async function assertTargetIsOurs(settings: Settings): Promise<void> {
  const { lakePath } = settings;
  if (lakePath !== undefined) {
    const tables = settings.streams.flatMap(({ table }) => [table, historyOf(table)]);
    await assertLakeIsOurs(lakePath, ownerOf(settings), tables);
  }
  if (settings.publishesDuckdb) await assertFileIsOurs(settings);
}

async function assertFileIsOurs(settings: Settings): Promise<void> {
  const target = settings.duckdbPath;
  assertFolderIsWritable(target);
  if (!existsSync(target)) return;
  const record = readPublishedRecord(settings.stateDir);
  if (record !== undefined && isPublishedFile(record, target)) return;
  const meta = statSync(target).size > 0 ? await readPublishedMeta(target) : undefined;
  if (meta?.has('schema_version') === true) {
    assertIdentity(meta, settings, target);
    return;
  }
  throw new PublishError(
    `${target} exists and was not written by Sluice, or is damaged; it is not replaced`,
    {
      code: 'publish_refused',
      hint: 'Set destination.duckdb to another file, or move this one away. (duckdb.connect() on a name that does not exist yet creates an empty file: that one may be deleted.) Nothing was requested.',
      context: { path: target },
      exitCode: 2,
    },
  );
}

// What cannot be published is not worth a request.
function assertFolderIsWritable(target: string): void {
  const folder = dirname(target);
  if (!existsSync(folder)) return;
  try {
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw new PublishError(`cannot write into ${folder}, where ${basename(target)} is to be published`, {
      code: 'publish_failed',
      hint: 'Fix the permissions of the folder, or set destination.duckdb to another file. Nothing was requested.',
      context: { path: target },
      cause: error,
    });
  }
}

/** The metadata of a published file; undefined if it is not ours or cannot be read. */
export function readPublishedMeta(file: string): Promise<ReadonlyMap<string, string> | undefined> {
  return lookInto(file, readMeta);
}

/** Reads something from a published file; undefined for one that is not ours or cannot be read. */
export async function lookInto<T>(
  file: string,
  read: (database: Database) => Promise<T>,
): Promise<T | undefined> {
  let database;
  try {
    database = await Database.open({ file, readOnly: true, folders: [] });
    return await read(database);
  } catch (error) {
    // A read error says nothing about the owner of the file.
    if (error instanceof BugError || (error as SyncError).code === 'state_damaged') return undefined;
    throw error;
  } finally {
    await database?.release();
  }
}
