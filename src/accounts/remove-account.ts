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

/** What removing an account may use of the outside world. */
export interface RemovalEffects {
  readonly clock: Clock;
  /** Asked once, with what would be deleted; false leaves all as it is. */
  readonly confirm: (plan: RemovalPlan) => Promise<boolean>;
  /** Called with a sentence about a file that joins accounts. */
  readonly onNote: (note: string) => void;
}

/** What was to be deleted, and whether somebody agreed to it. */
export interface Removal {
  readonly plan: RemovalPlan;
  readonly isDone: boolean;
  /** What kept a file that joins the accounts from being written without it. */
  readonly error: ReportedError | undefined;
}

/** Deleted when nobody holds them any more. */
const LOCKS = ['lock.sqlite', 'lock.json'];
/** What shows whose the others are goes last, so that a removal that was interrupted finds its way again. */
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
 * Deletes what is left of an account and is known to be its own: what it published first, its state folder last, so
 * that a removal that was interrupted can be repeated. Settings are those that the account would have; `joint` is what
 * it leaves first.
 *
 * @throws ConfigError (2) for what is not ours; LockedError (75) while a run goes on; StorageError (6)
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

/** Others may have something in it, which stays. */
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
