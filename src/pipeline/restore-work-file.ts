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

/** What the engine writes beside a file of its own. */
const LOGS = ['.wal', '.wal.checkpoint', '.wal.recovery'] as const;

/** A file of the engine begins with three headers of this size; a shorter one never held anything. */
const HEADER_BYTES = 3 * 4_096;

/** Something published that holds a state to go on from. */
export interface StateSource {
  readonly kind: 'file' | 'lake';
  readonly path: string;
}

type Destinations = Pick<OfflineSettings, 'publishesDuckdb' | 'duckdbPath' | 'lakePath'>;

/** What the next sync restores the state from; undefined where it has one, or there is nothing published. */
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

/** What becomes of a work file that is not there. */
export function describeMissing(settings: Destinations & Pick<OfflineSettings, 'stateDir'>): string {
  const source = findRestoreSource(settings);
  const makes = hasLostItsState(settings.lakePath) ? 'cannot do without it' : 'makes it';
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
 * Puts a work file with the state of what is published in the place of one that is gone or damaged, which is
 * kept under another name. The work file must be closed, and the state lock held.
 *
 * @returns what to tell people
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

/** Clears the place for a new work file: of one that a killed run only began to create, and of logs without a file. */
export async function clearUnbegun(file: string, nowMs: number): Promise<void> {
  if (!existsSync(file)) {
    await setLogsAside(file, `${file}.lost`);
    return;
  }
  const { size } = statSync(file);
  if (size === 0) await rm(file);
  else if (size < HEADER_BYTES && !existsSync(`${file}.wal`)) await setAside(file, nowMs);
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
  // The logs first: a kill in between must not leave them beside the file that is put in the place.
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
      hint: 'Mend the cause (permissions of both folders, space) and run again. Nothing is lost.',
      context: { path: published },
      cause: error,
    });
  }
}

/** The error of a lake that was published and lost the file with its state: what only that knew must not be read away. */
export function describeLostState(stateDir: string, lake: string): StorageError {
  return new StorageError(
    `the lake ${lake} has lost its ${LAKE_CATALOG}, and there is no state in ${stateDir} to go on from`,
    {
      code: 'state_damaged',
      hint: `Put ${LAKE_CATALOG} back from a backup of the lake and run again. Without one, move ${lake} away: the next sync reads everything from the API. Nothing was requested.`,
      context: { path: join(lake, LAKE_CATALOG) },
    },
  );
}

/** The error of a published file that should have given the state back and is damaged itself. */
export function describeUnrestorable(published: string, error: DamagedFileError): StorageError {
  return new StorageError(`the state cannot be restored: ${published} is damaged as well`, {
    code: 'state_damaged',
    hint: `Put a backup of ${basename(published)} in its place and run again. Without one, move it aside: the next sync reads everything from the API.`,
    context: { path: published },
    cause: error,
  });
}
