import { findUnreadable } from '../../state/run-file.ts';
import { StorageError } from '../model/errors.ts';
import type { OfflineSettings } from '../model/settings.ts';

/** Why this user cannot read the records of the state folder; undefined if it can, or if the folder has no records. */
export function findUnreadableState({ stateDir }: Pick<OfflineSettings, 'stateDir'>): string | undefined {
  return findUnreadable(stateDir);
}

/** For a question that only the records of the state folder answer. */
export function toUnreadable(stateDir: string, why: string): StorageError {
  return new StorageError(`the state folder ${stateDir} cannot be read: ${why}`, {
    code: 'storage_failed',
    hint: 'Run it as the user who syncs, or let this user read the folder. Nothing was changed.',
    context: { path: stateDir },
  });
}
