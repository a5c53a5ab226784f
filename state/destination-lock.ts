import { mkdirSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type * as sqliteModule from 'node:sqlite';
import type { DatabaseSync } from 'node:sqlite';
import { LockedError } from '../src/model/errors.ts';
import { isBusy, openExclusively, type StateLock } from './lock.ts';

/** The file beside a destination that a run locks; one that a killed run left means nothing without a process that holds it. */
export function destinationLockFile(destination: string): string {
  return join(dirname(destination), `.${basename(destination)}.lock`);
}

/**
 * Takes destinations for one run, from its first look at them to the end of its publish: two state folders may name the
 * same one, and the run that looked first must not publish over the one that ended first.
 *
 * Where a lock cannot be had at all, as on some network disks, the run goes on without: it looks again before it publishes.
 *
 * @throws LockedError (75)
 */
export async function lockDestinations(destinations: readonly string[]): Promise<StateLock> {
  const held: {
    readonly file: string;
    readonly database: DatabaseSync;
    readonly made: string | undefined;
  }[] = [];
  const lock = {
    release: () => {
      for (const { file, database, made } of held.splice(0)) {
        removeLocked(file);
        database.close();
        if (made !== undefined) removeEmpty(dirname(file), made);
      }
    },
  };
  const sqlite = await import('node:sqlite');
  for (const destination of destinations) {
    const file = destinationLockFile(destination);
    try {
      const made = mkdirSync(dirname(file), { recursive: true });
      held.push({ file, database: openNamed(sqlite, file), made });
    } catch (error) {
      if (!isBusy(error)) continue;
      lock.release();
      throw new LockedError(`another run publishes to ${destination}`, {
        code: 'state_locked',
        hint: 'Let it finish, then run again. No request was spent. One destination needs one stateDir.',
        context: { path: destination },
        cause: error,
      });
    }
  }
  return lock;
}

/** While it is still locked: whoever opened it meanwhile sees that the name stands for another file. */
function removeLocked(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // One that is left means nothing once this process let go of it: a run that is done does not fail by it.
  }
}

/** Removes folders that were made for the lock alone, from the innermost to the first one that was made. */
function removeEmpty(folder: string, made: string): void {
  try {
    rmdirSync(folder);
    if (folder !== made) removeEmpty(dirname(folder), made);
  } catch {
    // Something was published there, or somebody else uses it.
  }
}

/** Locks the file of a name, and not one that lost the name between its opening and its lock. */
function openNamed(sqlite: typeof sqliteModule, file: string): DatabaseSync {
  for (;;) {
    const before = readInode(file);
    // Whoever may replace the destination may lock it.
    const database = openExclusively(sqlite, file, 0o666);
    if (before !== undefined && before === readInode(file)) return database;
    database.close();
  }
}

function readInode(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino;
}
