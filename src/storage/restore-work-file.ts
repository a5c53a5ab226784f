import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { chmod, copyFile, open, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { StorageError, toSyncError } from '../model/errors.ts';
import { LAKE_CATALOG } from '../model/lake.ts';
import type { OfflineSettings, Settings } from '../model/settings.ts';
import { hasLostItsState, isRestorableLake } from '../publish/lake/assert-lake.ts';
import { restoreFromLake } from '../publish/lake/restore-lake.ts';
import type { DamagedFileError } from '../warehouse/database-errors.ts';
import { workFile } from './state-folder.ts';

/** Suffixes of files that the engine writes next to a database file. */
const LOGS = ['.wal', '.wal.checkpoint', '.wal.recovery'] as const;

/** A file of the engine begins with three headers of this size; a shorter one never held anything. */
const HEADER_BYTES = 3 * 4_096;

/** A published file or lake with a state to continue from. */
export interface StateSource {
  readonly kind: 'file' | 'lake';
  readonly path: string;
}

type Destinations = Pick<OfflineSettings, 'publishesDuckdb' | 'duckdbPath' | 'lakePath'>;

/** What the next sync restores the state from; undefined if it has a state, or if nothing is published. */
export function findRestoreSource(
  settings: Destinations & Pick<OfflineSettings, 'stateDir'>,
): StateSource | undefined {
  // Nothing is missing in a folder that only its owner may look into.
  if (existsSync(workFile(settings.stateDir)) || isClosed(settings.stateDir)) return undefined;
  return listStateSources(settings)[0];
}

function isClosed(folder: string): boolean {
  try {
    accessSync(folder, constants.X_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES';
  }
}

/** What happens to a missing work file. */
export function describeMissing(settings: Destinations & Pick<OfflineSettings, 'stateDir'>): string {
  const source = findRestoreSource(settings);
  const makes = hasLostItsState(settings.lakePath) ? 'cannot run without it' : 'makes it';
  const next = source === undefined ? makes : `restores the state from ${source.path}`;
  return `there is no ${workFile(settings.stateDir)}; the next sync ${next}`;
}

/** What is published and holds a state, the surest first; empty before the first publish. */
export function listStateSources(settings: Destinations): readonly StateSource[] {
  const { publishesDuckdb, duckdbPath, lakePath } = settings;
  return [
    ...(publishesDuckdb && existsSync(duckdbPath) ? [{ kind: 'file', path: duckdbPath } as const] : []),
    ...(isRestorableLake(lakePath) ? [{ kind: 'lake', path: lakePath } as const] : []),
  ];
}

/**
 * Restores a missing or damaged work file from what is published; a damaged one is kept under a different name. The
 * work file must be closed, and the state lock held.
 *
 * @returns a message for the user
 */
export async function restoreWorkFile(
  settings: Settings,
  source: StateSource,
  nowMs: number,
): Promise<string> {
  const file = workFile(settings.stateDir);
  const keptAs = existsSync(file) ? await setAside(file, nowMs) : undefined;
  await setLogsAside(file, `${file}.lost`);
  if (source.kind === 'file') await copyPublished(source.path, file);
  else await restoreFromLake(source.path, file, join(settings.stateDir, 'tmp'));
  const kept = keptAs === undefined ? '' : `it is kept as ${basename(keptAs)}, and `;
  return `${kept}the state is restored from ${source.path}; what was committed after that was published is read again`;
}

/** Removes a work file that a killed run only started to create, and logs without a file. */
export async function clearUnbegun(file: string, nowMs: number): Promise<void> {
  if (!existsSync(file)) {
    await setLogsAside(file, `${file}.lost`);
    return;
  }
  if (statSync(file).size === 0) await rm(file);
  else if (isUnbegun(file)) await setAside(file, nowMs);
}

/** Whether a work file never held anything, so that the next sync begins another. */
export function isUnbegun(file: string): boolean {
  const { size } = statSync(file);
  return size === 0 || (size < HEADER_BYTES && !existsSync(`${file}.wal`));
}

/** Renames a file and its logs, so that they can still be opened together; nothing is ever deleted. */
async function setAside(file: string, nowMs: number): Promise<string> {
  const time = new Date(nowMs)
    .toISOString()
    .replace(/[-:]/g, '')
    .replace(/\.\d+Z$/, 'Z');
  const wanted = `${file}.damaged-${time}`;
  let keptAs = wanted;
  for (let number = 2; existsSync(keptAs); number += 1) keptAs = `${wanted}-${number}`;
  // The logs first: after a kill they must not lie next to the restored file.
  await setLogsAside(file, keptAs);
  await rename(file, keptAs);
  return keptAs;
}

async function setLogsAside(file: string, keptAs: string): Promise<void> {
  for (const log of LOGS) {
    if (existsSync(file + log)) await rename(file + log, keptAs + log);
  }
}

async function copyPublished(published: string, file: string): Promise<void> {
  const temporary = `${file}.restore`;
  try {
    await copyFile(published, temporary);
    await chmod(temporary, 0o600);
    const handle = await open(temporary, 'r+');
    await handle.sync().finally(() => handle.close());
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw new StorageError(`cannot restore the state from ${published}: ${toSyncError(error).message}`, {
      code: 'storage_failed',
      hint: 'Fix the cause (permissions of both folders, disk space) and run again. Nothing is lost.',
      context: { path: published },
      cause: error,
    });
  }
}

/** The error of a published lake without its state file: a new state would lose what only that file has. */
export function describeLostState(stateDir: string, lake: string): StorageError {
  return new StorageError(
    `the lake ${lake} has lost its ${LAKE_CATALOG}, and there is no state in ${stateDir} to continue from`,
    {
      code: 'state_damaged',
      hint: `Restore ${LAKE_CATALOG} from a backup of the lake and run again. Without one, move ${lake} away: the next sync reads everything from the API. Nothing was requested.`,
      context: { path: join(lake, LAKE_CATALOG) },
    },
  );
}

/** The error of a damaged published file that the state should be restored from. */
export function describeUnrestorable(published: string, error: DamagedFileError): StorageError {
  return new StorageError(`the state cannot be restored: ${published} is damaged as well`, {
    code: 'state_damaged',
    hint: `Put a backup of ${basename(published)} in its place and run again. Without one, move it aside: the next sync reads everything from the API.`,
    context: { path: published },
    cause: error,
  });
}
