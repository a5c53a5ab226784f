import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { basename } from 'node:path';
import { workFile } from '../../state/work-file.ts';
import { StorageError, toSyncError } from '../model/errors.ts';
import type { StatusReport } from '../model/reports.ts';
import { toReportedError } from '../model/run-report.ts';
import type { OfflineSettings } from '../model/settings.ts';
import type { CarriedState } from '../publish/publisher.ts';
import { listPublishers } from '../publish/registry.ts';
import type { DamagedFileError } from '../warehouse/database-errors.ts';
import { RELOAD } from '../text/reload-advice.ts';
import { archiveRoot } from './state-folder.ts';

/** Suffixes of files that the engine writes next to a database file. */
const LOGS = ['.wal', '.wal.checkpoint', '.wal.recovery'] as const;

/** A file of the engine begins with three headers of this size; a shorter one never held anything. */
const HEADER_BYTES = 3 * 4_096;

/** A destination with a state to continue from. */
export interface StateSource {
  readonly place: string;
  readonly state: CarriedState;
}

/** What is known of a state to continue from. */
export type RestoreOutlook = Pick<StatusReport, 'restoresFrom' | 'restoreUnknown' | 'hasArchive'>;

/** What the next sync restores the state from; undefined if it has a state, or if nothing is published. */
export async function findRestoreSource(settings: OfflineSettings): Promise<StateSource | undefined> {
  // Nothing is missing in a folder that only its owner may read.
  if (existsSync(workFile(settings.stateDir)) || isClosed(settings.stateDir)) return undefined;
  const [first] = await listStateSources(settings);
  return first;
}

/** The same for who only looks: a destination that cannot be asked hides nothing else. */
export async function lookForRestore(settings: OfflineSettings): Promise<RestoreOutlook> {
  try {
    const restoresFrom = (await findRestoreSource(settings))?.place;
    return {
      restoresFrom,
      ...(restoresFrom === undefined && hasOnlyArchive(settings) && { hasArchive: true }),
    };
  } catch (thrown) {
    return { restoresFrom: undefined, restoreUnknown: toReportedError(toSyncError(thrown)) };
  }
}

function isClosed(folder: string): boolean {
  try {
    accessSync(folder, constants.X_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES';
  }
}

/** Whether neither a work file nor a published one is left, but pages that `sluice rebuild` can load. */
function hasOnlyArchive({ stateDir, readersFile }: OfflineSettings): boolean {
  const archive = archiveRoot(stateDir);
  const isLost = !existsSync(workFile(stateDir)) && !existsSync(readersFile);
  return isLost && !isClosed(stateDir) && existsSync(archive) && readdirSync(archive).length > 0;
}

/** What happens to a missing work file; `loss` is the error of a sync, where it can neither be restored nor made. */
export async function describeMissing(
  settings: OfflineSettings,
): Promise<{ readonly detail: string; readonly loss: StorageError | undefined }> {
  const source = await findRestoreSource(settings);
  const loss = source === undefined ? await findLostState(settings) : undefined;
  const makes = loss === undefined ? 'makes it' : 'cannot run without it';
  const next = source === undefined ? makes : `restores the state from ${source.place}`;
  return { detail: `there is no ${workFile(settings.stateDir)}; the next sync ${next}`, loss };
}

/** Published copies that hold a state, the safest first; empty before the first publish. */
export async function listStateSources(settings: OfflineSettings): Promise<readonly StateSource[]> {
  const sources: StateSource[] = [];
  for (const { place, state } of listPublishers(settings))
    if (state !== undefined && (await state.isHeld())) sources.push({ place, state });
  return sources;
}

/** Why published rows have lost their state: a new state would lose what only the old one had. */
export async function findLostState(settings: OfflineSettings): Promise<StorageError | undefined> {
  for (const { state } of listPublishers(settings)) {
    const loss = await state?.findLoss();
    if (loss !== undefined) return loss;
  }
  return undefined;
}

/**
 * Restores a missing or damaged work file from what is published; a damaged one is kept under a different name. The
 * work file must be closed, and the state lock held.
 *
 * @param how `isUsable`: the work file is only older than what is published, and stays until the state is restored
 * @returns a message for the user
 */
export async function restoreWorkFile(
  settings: OfflineSettings,
  source: StateSource,
  { nowMs, isUsable }: { readonly nowMs: number; readonly isUsable: boolean },
): Promise<string> {
  const file = workFile(settings.stateDir);
  const keep = async () => (existsSync(file) ? setAside(file, nowMs) : undefined);
  // An older file is as good as before where the state cannot be restored.
  const damaged = isUsable ? undefined : await keep();
  const restored = `${file}.restored`;
  await rm(restored, { force: true });
  await source.state.restore(restored);
  const keptAs = damaged ?? (await keep());
  await setLogsAside(file, `${file}.lost`);
  await rename(restored, file);
  const kept = keptAs === undefined ? '' : `it is kept as ${basename(keptAs)}, and `;
  return `${kept}the state is restored from ${source.place}; what was committed after that was published is read again`;
}

/**
 * Removes a work file that a killed run only started to create, and logs without a file.
 *
 * @returns where it is kept, if it had any bytes
 */
export async function clearUnbegun(file: string, nowMs: number): Promise<string | undefined> {
  if (!existsSync(file)) {
    await setLogsAside(file, `${file}.lost`);
    return undefined;
  }
  if (statSync(file).size > 0) return isUnbegun(file) ? setAside(file, nowMs) : undefined;
  await rm(file);
  return undefined;
}

/** Whether a work file never held anything, so that the next sync creates a new one. */
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

/** The error of a damaged published file that the state should be restored from. */
export function describeUnrestorable(published: string, error: DamagedFileError): StorageError {
  return new StorageError(`the state cannot be restored: ${published} is damaged as well`, {
    code: 'state_damaged',
    hint: `Put a backup of ${basename(published)} in its place and run again. Without one, move it aside: ${RELOAD}`,
    context: { path: published },
    cause: error,
  });
}
