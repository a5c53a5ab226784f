import { rmdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type * as sqliteModule from 'node:sqlite';
import type { DatabaseSync } from 'node:sqlite';
import { LockedError } from '../src/model/errors.ts';
import { makeFolders } from '../src/files/make-folders.ts';
import type { StateLock } from '../src/model/state-lock.ts';
import { isBusy, openExclusively } from './lock.ts';

/** The lock file next to a destination. A leftover file means nothing unless a process holds its lock. */
export function destinationLockFile(destination: string): string {
  return join(dirname(destination), `.${basename(destination)}.lock`);
}

/** What is locked of a place: a part of it, or all of it. */
export interface LockedPlace {
  readonly target: string;
  readonly part?: string;
}

/** A lock file that this process has locked, and the parts that its runs have; none for all of it. */
interface HeldFile {
  readonly file: string;
  readonly database: DatabaseSync;
  readonly made: string | undefined;
  readonly parts: Set<string>;
}

/** Those that runs with other parts may join, by their names. */
const joinable = new Map<string, HeldFile>();

/**
 * Locks destinations for one run, from its first look at them to the end of its publish. Two state folders may share
 * a destination, and one run must not overwrite what the other published in the meantime. Runs of this process that
 * use different parts hold the lock together; for other processes it is one.
 *
 * Where locking does not work, as on some network disks, the run continues without a lock: it checks again before it
 * publishes.
 *
 * @throws LockedError (75)
 */
export async function lockDestinations(destinations: readonly LockedPlace[]): Promise<StateLock> {
  const held: (readonly [HeldFile, part: string | undefined])[] = [];
  const lock: StateLock = {
    release() {
      for (const [one, part] of held.splice(0)) leave(one, part);
      return Promise.resolve();
    },
  };
  const sqlite = await import('node:sqlite');
  for (const { target: destination, part } of destinations) {
    try {
      held.push([hold(sqlite, destinationLockFile(destination), part), part]);
    } catch (error) {
      if (!isBusy(error)) continue;
      await lock.release();
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

function hold(sqlite: typeof sqliteModule, file: string, part: string | undefined): HeldFile {
  const joined = part === undefined ? undefined : joinable.get(file);
  if (joined !== undefined && part !== undefined && !joined.parts.has(part)) {
    joined.parts.add(part);
    return joined;
  }
  const made = makeFolders(dirname(file));
  const parts = new Set(part === undefined ? [] : [part]);
  const held = { file, database: openNamed(sqlite, file), made, parts };
  if (part !== undefined) joinable.set(file, held);
  return held;
}

function leave(held: HeldFile, part: string | undefined): void {
  const { file, database, made, parts } = held;
  if (part !== undefined) parts.delete(part);
  if (parts.size > 0) return;
  if (joinable.get(file) === held) joinable.delete(file);
  removeLocked(file);
  database.close();
  if (made !== undefined) removeEmpty(dirname(file), made);
}

/**
 * Removed while still locked: a process that opened it meanwhile notices that the name now refers to a different
 * file.
 */
function removeLocked(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // A leftover file means nothing without a lock: a finished run must not fail because of it.
  }
}

/** Removes folders that were created only for the lock, from the innermost to the first one created. */
function removeEmpty(folder: string, made: string): void {
  try {
    rmdirSync(folder);
    if (folder !== made) removeEmpty(dirname(folder), made);
  } catch {
    // Something was published there, or another process uses it.
  }
}

/** Locks the file that currently has a name; retries if it was replaced between open and lock. */
function openNamed(sqlite: typeof sqliteModule, file: string): DatabaseSync {
  for (;;) {
    const before = readInode(file);
    // Everybody who may replace the destination may lock it.
    const database = openExclusively(sqlite, file, 0o666);
    if (before !== undefined && before === readInode(file)) return database;
    database.close();
  }
}

function readInode(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino;
}
