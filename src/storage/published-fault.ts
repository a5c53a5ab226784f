import { isRunUnderWay } from '../../state/lock.ts';
import type { PublishedFault } from '../model/reports.ts';
import type { OfflineSettings } from '../model/settings.ts';
import { listPublishers } from '../publish/registry.ts';

/** What changed in the destinations since it was published; large files are not read. */
export async function findPublishedFaults(settings: OfflineSettings): Promise<readonly PublishedFault[]> {
  // A run that publishes at this moment has not said yet what it published.
  if (isRunUnderWay(settings.stateDir)) return [];
  const faults: PublishedFault[] = [];
  for (const publisher of listPublishers(settings)) faults.push(...((await publisher.findFaults?.()) ?? []));
  return faults;
}

/**
 * Reads what is published completely.
 *
 * @throws StorageError for what cannot be read: readers get errors, or nothing
 */
export async function tryPublished(settings: OfflineSettings): Promise<void> {
  for (const publisher of listPublishers(settings)) await publisher.tryReading?.();
}
