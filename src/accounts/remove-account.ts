import { rm, rmdir } from 'node:fs/promises';
import { basename } from 'node:path';
import { destinationLockFile } from '../../state/destination-lock.ts';
import { lockStateFolder } from '../../state/lock.ts';
import type { Clock } from '../model/clock.ts';
import { StorageError } from '../model/errors.ts';
import type { ReportedError } from '../model/run-report.ts';
import type { OfflineSettings } from '../model/settings.ts';
import { lockTargets } from '../storage/lock-targets.ts';
import type { FoundLeftover } from './find-leftovers.ts';
import { leaveJoint } from './leave-joint.ts';
import { planRemoval, type RemovalPlan } from './plan-removal.ts';
import type { JointPlaces } from './publish-joint.ts';

/** Effects that removing an account needs. */
export interface RemovalEffects {
  readonly clock: Clock;
  /** Asked once, with what would be deleted; with false, nothing changes. */
  readonly confirm: (plan: RemovalPlan) => Promise<boolean>;
  /** Called with a sentence about a file that joins accounts. */
  readonly onNote: (note: string) => void;
}

/** What would be deleted, and whether a person agreed. */
export interface Removal {
  readonly plan: RemovalPlan;
  readonly isDone: boolean;
  /** The error if a file that joins the accounts could not be written without it. */
  readonly error: ReportedError | undefined;
}

/** Deleted after the locks are released. */
const LOCKS = ['lock.sqlite', 'lock.json'];
/** Deleted last: they show which files belong to the account, so an interrupted removal can be repeated. */
const PROOFS = [
  'lake.duckdb',
  'manifest.json',
  'work.duckdb',
  'refused.json',
  'runs.json',
  'published.json',
  'destination.json',
];

/**
 * Deletes what is known to belong to an account: published data first, the state folder last, so that an interrupted
 * removal can be repeated. Takes the settings that the account would have; it is taken out of `joint` first.
 *
 * @throws ConfigError (2) for what is not ours; LockedError (75) while a run is active; StorageError (6)
 */
export async function removeAccount(
  settings: OfflineSettings,
  left: FoundLeftover,
  { clock, confirm, onNote, joint }: RemovalEffects & { readonly joint: JointPlaces | undefined },
): Promise<Removal> {
  const since = new Date(clock.now()).toISOString();
  const locks = [await lockStateFolder(settings.stateDir, since, 'accounts remove')];
  let plan: RemovalPlan;
  let error: ReportedError | undefined;
  try {
    locks.push(await lockTargets(settings));
    plan = await planRemoval(settings, left);
    if (!(await confirm(plan))) return { plan, isDone: false, error };
    const found = joint && (await leaveJoint(left.account, joint, { clock }));
    for (const note of found?.notes ?? []) onNote(note);
    error = found?.error;
    for (const { own } of plan.places) await removeFiles(inOrder(own.files));
  } finally {
    for (const lock of locks.toReversed()) await lock.release();
  }
  for (const { path, own } of plan.places) {
    if (path !== settings.stateDir) await rm(destinationLockFile(path), { force: true });
    await removeFiles(own.files);
    for (const folder of own.folders) await removeEmpty(folder);
  }
  return { plan, isDone: true, error };
}

function inOrder(files: readonly string[]): readonly string[] {
  const rank = (file: string) => PROOFS.indexOf(basename(file));
  return files.filter((file) => !LOCKS.includes(basename(file))).toSorted((a, b) => rank(a) - rank(b));
}

async function removeFiles(files: readonly string[]): Promise<void> {
  for (const path of files) {
    try {
      await rm(path, { force: true });
    } catch (cause) {
      throw toRemovalError(path, cause as Error);
    }
  }
}

/** Files of others in it stay. */
async function removeEmpty(folder: string): Promise<void> {
  try {
    await rmdir(folder);
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException;
    if (!['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(code)) throw toRemovalError(folder, cause as Error);
  }
}

function toRemovalError(path: string, cause: Error): StorageError {
  return new StorageError(`${path} could not be deleted: ${cause.message}`, {
    code: 'storage_failed',
    hint: 'Check its permissions, and run the same command again: it continues with what is left.',
    context: { path },
    cause,
  });
}
