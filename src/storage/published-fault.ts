import { isRunUnderWay } from '../../state/lock.ts';
import { readPublishedRecord } from '../../state/published-record.ts';
import { readRecentRuns } from '../../state/recent-runs.ts';
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

/** Destinations on this machine that were published before and are no longer there. */
export async function findMissing(
  settings: OfflineSettings,
  publishers = listPublishers(settings),
): Promise<readonly PublishedFault[]> {
  const { stateDir } = settings;
  const runs = readRecentRuns(stateDir).flatMap(({ published }) => Object.values(published ?? {}));
  const parts = [readPublishedRecord(stateDir), ...runs];
  const places = new Set(parts.flatMap((part) => (typeof part === 'object' ? part.path : [])));
  const missing: PublishedFault[] = [];
  for (const publisher of publishers) {
    const { place, local } = publisher;
    if (local === undefined || !places.has(place)) continue;
    // What cannot be looked into is there.
    const isThere = await publisher.inspect().then(
      (found) => found !== undefined,
      () => true,
    );
    if (isThere) continue;
    const detail = `${place} was published before and is missing: readers find no data`;
    missing.push({ path: place, detail, fix: REPUBLISH_FIX });
  }
  return missing;
}

/**
 * Reads what is published completely.
 *
 * @throws StorageError for what cannot be read: readers get errors, or nothing
 */
export async function tryPublished(settings: OfflineSettings): Promise<void> {
  for (const publisher of listPublishers(settings)) await publisher.tryReading?.();
}
