import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isRunUnderWay } from '../../state/lock.ts';
import { isPublishedFile, isUntouched, readPublishedRecord } from '../../state/published-record.ts';
import { LockedError, StorageError } from '../model/errors.ts';
import { LAKE_CATALOG } from '../model/lake.ts';
import type { PublishedFault } from '../model/reports.ts';
import type { OfflineSettings } from '../model/settings.ts';
import { readManifest } from '../publish/lake/manifest.ts';
import { DamagedFileError } from '../warehouse/database-errors.ts';
import { isAsMarked } from '../warehouse/fingerprint-file.ts';
import { checkReadable } from '../warehouse/check-readable.ts';
import { openForReading } from '../warehouse/query-published.ts';
import { workFile } from './state-folder.ts';

type Places = Pick<OfflineSettings, 'stateDir' | 'publishesDuckdb' | 'duckdbPath' | 'lakePath'>;

/** Published files that changed since they were published; only small ones are read completely. */
export async function findPublishedFaults(settings: Places): Promise<readonly PublishedFault[]> {
  // A run that publishes at this moment has not said yet what it published.
  if (isRunUnderWay(settings.stateDir)) return [];
  const faults: PublishedFault[] = [];
  for (const path of listFiles(settings)) {
    if (await isAsPublished(settings, path)) continue;
    faults.push({
      path,
      detail: `${path} is not as it was published: it is damaged, or another program has written into it`,
      fix: adviseOn(settings, path, true),
    });
  }
  return faults;
}

/**
 * Reads the published files completely.
 *
 * @throws StorageError for a file that cannot be read: readers get errors, or nothing
 */
export async function tryPublishedFiles(settings: Places): Promise<void> {
  for (const path of listFiles(settings)) {
    try {
      const database = await openForReading(path, []);
      await checkReadable(database, lakeFileOf(settings) === path ? '_sluice' : undefined).finally(() =>
        database.release(),
      );
    } catch (error) {
      // A program that has it open for writing blocks others, and may finish soon.
      if (error instanceof LockedError) continue;
      if (!(error instanceof DamagedFileError)) throw error;
      throw new StorageError(`${path} is damaged: readers cannot read all of it`, {
        code: 'state_damaged',
        hint: adviseOn(settings, path, await willSyncNotice(settings, path)),
        context: { path },
        cause: error,
      });
    }
  }
}

/** Whether the published file is the one that was left there, byte for byte where it is small. */
export async function isPublishedWhole(stateDir: string, path: string, generation: string): Promise<boolean> {
  const record = readPublishedRecord(stateDir);
  if (record?.generation !== generation || !existsSync(path)) return false;
  return isPublishedFile(record, path) && isUntouched(record, path) && isAsMarked(path, record);
}

async function isAsPublished(settings: Places, path: string): Promise<boolean> {
  if (lakeFileOf(settings) === path) {
    const mark = settings.lakePath === undefined ? undefined : readManifest(settings.lakePath)?.catalog;
    return mark === undefined || isAsMarked(path, mark);
  }
  const record = readPublishedRecord(settings.stateDir);
  // A different file in its place may be a restored copy: a sync finds out whose it is.
  if (record === undefined || !isPublishedFile(record, path)) return true;
  return record.fingerprint === undefined ? isUntouched(record, path) : isAsMarked(path, record);
}

function listFiles(settings: Places): readonly string[] {
  const { publishesDuckdb, duckdbPath } = settings;
  const files = [publishesDuckdb ? duckdbPath : undefined, lakeFileOf(settings)];
  return files.filter((path) => path !== undefined).filter((path) => existsSync(path));
}

function lakeFileOf({ lakePath }: Places): string | undefined {
  return lakePath === undefined ? undefined : join(lakePath, LAKE_CATALOG);
}

/** Whether the next sync notices by itself: it does not read large files. */
async function willSyncNotice(settings: Places, path: string): Promise<boolean> {
  if (lakeFileOf(settings) === path) return !(await isAsPublished(settings, path));
  const generation = readPublishedRecord(settings.stateDir)?.generation;
  return generation === undefined || !(await isPublishedWhole(settings.stateDir, path, generation));
}

function adviseOn(settings: Places, path: string, isNoticed: boolean): string {
  const { stateDir, lakePath = '' } = settings;
  if (!existsSync(workFile(stateDir))) {
    const all = lakeFileOf(settings) === path ? lakePath : path;
    return `There is no state to publish it from: put a backup of ${path} in its place. Without one, move ${all} away: the next sync reads everything from the API.`;
  }
  const first = isNoticed ? 'Run' : `Move ${path} away and run`;
  return `${first} \`sluice sync\`: it publishes the file again from the state folder; fresh streams cost no request.`;
}
