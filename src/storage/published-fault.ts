import { existsSync } from 'node:fs';
import { isRunUnderWay } from '../../state/lock.ts';
import { readPublishedRecord } from '../../state/published-record.ts';
import type { PublishedFault } from '../model/reports.ts';
import type { OfflineSettings } from '../model/settings.ts';
import { REPUBLISH_FIX } from '../publish/published-file.ts';
import { listPublishers } from '../publish/registry.ts';

/** What changed in the destinations since it was published; large files are not read. */
export async function findPublishedFaults(settings: OfflineSettings): Promise<readonly PublishedFault[]> {
  // A run that publishes at this moment has not said yet what it published.
  if (isRunUnderWay(settings.stateDir)) return [];
  const faults: PublishedFault[] = [];
  for (const publisher of listPublishers(settings)) faults.push(...((await publisher.findFaults?.()) ?? []));
  return faults;
}

/** The DuckDB file that was published before and is no longer there; undefined while it is, or without one. */
export function findMissingFile(settings: OfflineSettings): PublishedFault | undefined {
  const record = readPublishedRecord(settings.stateDir);
  // The file may have another place by now.
  if (record === undefined || record.path !== settings.readersFile || existsSync(record.path))
    return undefined;
  const detail = `${record.path} was published before and is missing: readers find no data`;
  return { path: record.path, detail, fix: REPUBLISH_FIX };
}

/**
 * Reads what is published completely.
 *
 * @throws StorageError for what cannot be read: readers get errors, or nothing
 */
export async function tryPublished(settings: OfflineSettings): Promise<void> {
  for (const publisher of listPublishers(settings)) await publisher.tryReading?.();
}
