import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { isDiskFull } from '../src/files/disk-full.ts';
import type * as sqliteModule from 'node:sqlite';
import type { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { LockedError, StorageError } from '../src/model/errors.ts';
import type { StateLock } from '../src/model/state-lock.ts';
import { makeFolders } from '../src/files/make-folders.ts';

type Sqlite = typeof sqliteModule;

const holderSchema = z.object({ pid: z.number(), host: z.string(), since: z.string(), command: z.string() });

function adviseOnLock(error: unknown, stateDir: string, file: string): string {
  if (isDiskFull(error)) return 'The disk is full: free some space and run again.';
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EROFS')
    return `Its file system is read-only: mount ${stateDir} so that it can be written, or set stateDir.`;
  if (code === 'EACCES' || code === 'EPERM')
    return `Run it as the user who syncs, or let this user write into ${stateDir}.`;
  if (!isWritable(file))
    return `This user may not write ${file}: change its owner, or remove it while no run is at work.`;
  return `Check that ${stateDir} is on a local disk and that this user can write into it.`;
}

/** Whether a file can be written, or is not there. */
function isWritable(file: string): boolean {
  try {
    accessSync(file, constants.W_OK);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

/**
 * Locks the state folder for one run. The lock is an open transaction on a small database, so the operating system
 * releases it when the process ends: a stale lock file means nothing.
 *
 * @throws LockedError (75) naming pid, host and start of the holder; StorageError (6).
 */
export async function lockStateFolder(stateDir: string, since: string, command = 'sync'): Promise<StateLock> {
  makeStateFolder(stateDir);
  const sqlite = await import('node:sqlite');
  const file = join(stateDir, 'lock.sqlite');
  let database: DatabaseSync | undefined;
  try {
    database = takeLock(sqlite, file);
    // For messages only: the lock itself decides whether the folder is in use.
    const holder = { pid: process.pid, host: hostname(), since, command };
    writeFileSync(holderFile(stateDir), JSON.stringify(holder), { mode: 0o600 });
  } catch (error) {
    database?.close();
    if (isBusy(error)) throw lockedBy(stateDir, error);
    throw new StorageError(`cannot lock the state folder ${stateDir}: ${(error as Error).message}`, {
      code: 'storage_failed',
      hint: `${adviseOnLock(error, stateDir, file)} Nothing was requested; everything committed before is intact.`,
      context: { path: file },
      cause: error,
    });
  }
  const held = database;
  let open = true;
  return {
    release() {
      if (!open) return Promise.resolve();
      open = false;
      try {
        rmSync(holderFile(stateDir), { force: true });
      } catch {
        // For messages only: a finished run must not fail because of it.
      }
      held.close();
      return Promise.resolve();
    },
  };
}

/** Opens and locks the file; a file that is not a database is set aside. */
function takeLock(sqlite: Sqlite, file: string): DatabaseSync {
  try {
    return openExclusively(sqlite, file);
  } catch (error) {
    if (!isDamaged(error)) throw error;
    // If two runs do this at once, the engine's own lock on the work file still stops one of them.
    renameSync(file, `${file}.damaged`);
    rmSync(`${file}-journal`, { force: true });
    return openExclusively(sqlite, file);
  }
}

/** Opens a small database with an exclusive transaction; `mode` applies to a new file. */
export function openExclusively(sqlite: Sqlite, file: string, mode = 0o600): DatabaseSync {
  createLockFile(file, mode);
  const database = new sqlite.DatabaseSync(file);
  try {
    database.exec('PRAGMA busy_timeout = 0');
    database.exec('BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

// Only a new file is opened here: closing a locked one would release this process's lock.
function createLockFile(file: string, mode: number): void {
  try {
    closeSync(openSync(file, 'wx', mode));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Creates the state folder for its owner only (0700). */
export function makeStateFolder(stateDir: string): void {
  try {
    makeFolders(pointedFolder(stateDir), 0o700);
    // An existing folder may be open to other users.
    if ((statSync(stateDir).mode & 0o077) !== 0) closeToOthers(stateDir);
  } catch (error) {
    throw new StorageError(`cannot create the state folder ${stateDir}: ${(error as Error).message}`, {
      code: 'storage_failed',
      hint: 'Set stateDir to a writable folder in the config. Nothing was requested.',
      context: { path: stateDir },
      cause: error,
    });
  }
}

// A link may point to a folder that does not exist yet, e.g. on a new disk.
function pointedFolder(stateDir: string): string {
  const link = lstatSync(stateDir, { throwIfNoEntry: false });
  if (link?.isSymbolicLink() !== true || existsSync(stateDir)) return stateDir;
  return resolve(dirname(stateDir), readlinkSync(stateDir));
}

// Permissions of a volume owned by another user, as in containers, cannot be changed; its files are private anyway.
function closeToOthers(folder: string): void {
  try {
    chmodSync(folder, 0o700);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error;
  }
}

/**
 * Whether a run on this machine seems to hold the folder. Does not touch the lock, so that it can never make a run
 * fail.
 */
export function isRunUnderWay(stateDir: string): boolean {
  const holder = readHolder(stateDir);
  if (holder === undefined) return false;
  // Processes of other machines cannot be checked.
  if (holder.host !== hostname()) return true;
  try {
    process.kill(holder.pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function lockedBy(stateDir: string, cause: unknown): LockedError {
  const holder = readHolder(stateDir);
  const who =
    holder === undefined ? 'another process' : `pid ${holder.pid} on ${holder.host} since ${holder.since}`;
  return new LockedError(`another run holds ${stateDir}: ${who}`, {
    code: 'state_locked',
    hint: 'Let it finish, then run again. No request was spent.',
    context: { path: stateDir },
    cause,
    wasHeld: 'another run held the state folder',
  });
}

function readHolder(stateDir: string): z.infer<typeof holderSchema> | undefined {
  try {
    return holderSchema.safeParse(JSON.parse(readFileSync(holderFile(stateDir), 'utf8'))).data;
  } catch {
    return undefined;
  }
}

function holderFile(stateDir: string): string {
  return join(stateDir, 'lock.json');
}

/** SQLITE_BUSY and SQLITE_LOCKED. */
export function isBusy(error: unknown): boolean {
  return [5, 6].includes(codeOf(error));
}

// SQLITE_CORRUPT and SQLITE_NOTADB.
function isDamaged(error: unknown): boolean {
  return [11, 26].includes(codeOf(error));
}

// The lower byte is the primary error code.
function codeOf(error: unknown): number {
  const code = (error as { errcode?: unknown }).errcode;
  return typeof code === 'number' ? code & 0xff : 0;
}
