import { lstat, rm } from 'node:fs/promises';
import { destinationLockFile } from '../../state/destination-lock.ts';
import { lockStateFolder } from '../../state/lock.ts';
import type { Clock } from '../model/clock.ts';
import { ConfigError, StorageError } from '../model/errors.ts';
import type { OfflineSettings } from '../model/settings.ts';
import { assertTargetIsOurs } from '../storage/open-warehouse.ts';
import { lockTargets } from '../storage/lock-targets.ts';
import type { Leftover } from './find-leftovers.ts';

/** What removing an account may use of the outside world. */
export interface RemovalEffects {
  readonly clock: Clock;
  /** Asked once, with what would be deleted; false leaves all as it is. */
  readonly confirm: (left: Leftover) => Promise<boolean>;
}

/**
 * Deletes all that is left of an account: what it published first, its state folder last, so that a removal that was
 * interrupted can be repeated. Settings are those that the account would have.
 *
 * @returns false if nothing was deleted, because nobody agreed
 * @throws ConfigError (2) for what is not ours; LockedError (75) while a run goes on; StorageError (6)
 */
export async function removeAccount(
  settings: OfflineSettings,
  left: Leftover,
  { clock, confirm }: RemovalEffects,
): Promise<boolean> {
  for (const { path } of left.places) await refuseLink(path);
  await assertTargetIsOurs(settings);
  if (!(await confirm(left))) return false;
  const [state] = left.places.filter(({ path }) => path === settings.stateDir);
  const published = left.places.filter((place) => place !== state);
  const since = new Date(clock.now()).toISOString();
  const locks = [
    ...(state === undefined ? [] : [await lockStateFolder(state.path, since, 'accounts remove')]),
    await lockTargets(settings),
  ];
  try {
    for (const { path } of published) await remove(path);
  } finally {
    for (const lock of locks.toReversed()) await lock.release();
  }
  for (const { path } of published) await rm(destinationLockFile(path), { force: true });
  if (state !== undefined) await remove(state.path);
  return true;
}

async function remove(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true });
    // What an engine may have left beside a file.
    await rm(`${path}.wal`, { force: true });
  } catch (cause) {
    throw new StorageError(`${path} could not be deleted: ${(cause as Error).message}`, {
      code: 'storage_failed',
      hint: 'Check its permissions, and run the same command again: it continues with what is left.',
      context: { path },
      cause,
    });
  }
}

/** What a link points to may belong to others. */
async function refuseLink(path: string): Promise<void> {
  if (!(await lstat(path)).isSymbolicLink()) return;
  throw new ConfigError(`${path} is a link, and what it points to may not be the account's`, {
    code: 'config_invalid',
    hint: 'Nothing was deleted. Look where it points to, and delete the link and its target by hand.',
    context: { path },
  });
}
