import { StorageError } from '../model/errors.ts';
import { formatBytes } from '../text/format-bytes.ts';
import type { OfflineSettings } from '../model/settings.ts';
import { measureLeastDisk, type ReadDisk } from './plan/estimate-disk.ts';

/**
 * Free space where a sync writes. Throws a StorageError if not even the published copy would fit next to the file
 * that it replaces: the sync would spend its requests and then fail.
 */
export async function checkDisk(settings: OfflineSettings, readDisk?: ReadDisk): Promise<string> {
  const needs = await measureLeastDisk(settings, readDisk);
  const short = needs.filter(({ fits }) => !fits);
  if (short.length > 0) {
    const places = short.map(
      ({ path, neededBytes, freeBytes }) =>
        `${path} has ${formatBytes(freeBytes)} free, and a sync takes at least ${formatBytes(neededBytes)} there`,
    );
    throw new StorageError(`the disk is too small: ${places.join('; ')}`, {
      code: 'storage_failed',
      hint: 'Free some disk space, or set another stateDir or destination. What is published stays unchanged; `sluice plan` estimates the whole sync.',
    });
  }
  return needs.map(({ path, freeBytes }) => `${formatBytes(freeBytes)} free in ${path}`).join(', ');
}
