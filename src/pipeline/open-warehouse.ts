import { accessSync, chmodSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { copyFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { migrate, readMeta, writeMeta } from '../../state/migrations.ts';
import { isPublishedFile, readPublishedRecord } from '../../state/published-record.ts';
import { ConfigError, LockedError, PublishError, StorageError } from '../model/errors.ts';
import type { Settings } from '../model/settings.ts';
import { Database } from '../warehouse/database.ts';
import { workFile } from './state-folder.ts';

/**
 * Opens the work file for a run that holds the state lock: creates it, or restores it from the published
 * file, which carries its own state; brings its tables up to date; and refuses another source's state.
 */
export async function openWarehouse(settings: Settings): Promise<Database> {
  const file = workFile(settings.stateDir);
  const spill = join(settings.stateDir, 'tmp');
  const stage = join(settings.stateDir, 'stage');
  for (const folder of [spill, stage]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  const isRestored = !existsSync(file) && existsSync(settings.duckdbPath);
  if (isRestored) await restoreFromPublished(settings.duckdbPath, file);
  const database = await Database.open({ file, folders: [spill, stage] });
  try {
    // The engine creates its files for everybody to read.
    chmodSync(file, 0o600);
    await database.transaction(async () => {
      await migrate(database, file);
      await claimIdentity(database, settings);
    });
    return database;
  } catch (error) {
    await database.release();
    // Another source's state must not stay where the right one is looked for.
    if (isRestored && error instanceof ConfigError) await rm(file, { force: true });
    throw error;
  }
}

async function restoreFromPublished(published: string, file: string): Promise<void> {
  const temporary = `${file}.restore`;
  try {
    await copyFile(published, temporary);
    // A log of the file that was lost would be refused beside this one.
    if (existsSync(`${file}.wal`)) await rename(`${file}.wal`, `${file}.wal.lost`);
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw new StorageError(`cannot restore the state from ${published}: ${(error as Error).message}`, {
      code: 'storage_failed',
      hint: 'Check the permissions of both folders. Nothing was requested.',
      context: { path: published },
      cause: error,
    });
  }
}

// Rows of two sources in one table could never be told apart again. A new key is no new source: keys expire.
async function claimIdentity(database: Database, settings: Settings): Promise<void> {
  const meta = await readMeta(database);
  assertIdentity(meta, settings);
  for (const [name, value] of identityOf(settings)) {
    if (meta.get(name) !== value) await writeMeta(database, name, value);
  }
}

function identityOf(settings: Settings): readonly (readonly [string, string])[] {
  return [
    ['connector', settings.connector.name],
    ['base_url', settings.baseUrl.href.replace(/\/$/, '')],
  ];
}

/** Refuses a state whose rows came from another source; `meta` is what its `_sluice.meta` says. */
export function assertIdentity(
  meta: ReadonlyMap<string, string>,
  settings: Settings,
  where = `the state in ${settings.stateDir}`,
): void {
  // Until something is committed there is nothing to mix with: a mistyped URL may be mended.
  if (!meta.has('generation')) return;
  for (const [name, value] of identityOf(settings)) {
    const held = meta.get(name);
    if (held !== undefined && held !== value) {
      throw new ConfigError(`${where} belongs to ${name} ${held}, the config says ${value}`, {
        code: 'identity_mismatch',
        hint: 'Name another stateDir and destination for this source, or set the old value back. Nothing was requested.',
        context: { path: settings.stateDir },
      });
    }
  }
}

/**
 * Refuses to replace a file that is not ours, before any request is spent on data that could then not be
 * published. A file we published is known without opening it, since a user may hold it for writing.
 */
export async function assertTargetIsOurs(settings: Settings): Promise<void> {
  const target = settings.duckdbPath;
  assertFolderIsWritable(target);
  if (!existsSync(target)) return;
  const record = readPublishedRecord(settings.stateDir);
  if (record !== undefined && isPublishedFile(record, target)) return;
  const meta = statSync(target).size > 0 ? await readTargetMeta(target) : undefined;
  if (meta?.has('schema_version') === true) {
    assertIdentity(meta, settings, target);
    return;
  }
  throw new PublishError(`${target} exists and was not written by Sluice; it is not replaced`, {
    code: 'publish_refused',
    hint: 'Name another file as destination.duckdb, or move this one away. (duckdb.connect() on a name that does not exist yet creates an empty file: that one may be deleted.) Nothing was requested.',
    context: { path: target },
    exitCode: 2,
  });
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
      hint: 'Mend the permissions of the folder, or name another file as destination.duckdb. Nothing was requested.',
      context: { path: target },
      cause: error,
    });
  }
}

async function readTargetMeta(file: string): Promise<ReadonlyMap<string, string> | undefined> {
  let database;
  try {
    database = await Database.open({ file, readOnly: true, folders: [] });
    return await readMeta(database);
  } catch (error) {
    if (error instanceof LockedError) throw error;
    return undefined;
  } finally {
    await database?.release();
  }
}
