import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { LockedError, StorageError } from '../src/model/errors.ts';

/** Held for the life of a run; `release` may be called more than once. */
export interface StateLock {
  release(): void;
}

const holderSchema = z.object({ pid: z.number(), host: z.string(), since: z.string(), command: z.string() });

/**
 * Takes the state folder for one run. The lock is an open transaction on a small database, so the
 * operating system drops it with its process: a stale lock file means nothing.
 *
 * @throws LockedError (75) naming pid, host and start of the holder; StorageError (6).
 */
export async function lockStateFolder(stateDir: string, since: string): Promise<StateLock> {
  makeStateFolder(stateDir);
  const { DatabaseSync } = await import('node:sqlite');
  const file = join(stateDir, 'lock.sqlite');
  let database;
  try {
    createPrivately(file);
    database = new DatabaseSync(file);
    database.exec('PRAGMA busy_timeout = 0');
    database.exec('BEGIN EXCLUSIVE');
    // Only told to people: whether the folder is taken, the lock decides.
    const holder = { pid: process.pid, host: hostname(), since, command: 'sync' };
    writeFileSync(holderFile(stateDir), JSON.stringify(holder), { mode: 0o600 });
  } catch (error) {
    database?.close();
    if (isBusy(error)) throw lockedBy(stateDir, error);
    throw new StorageError(`cannot lock the state folder ${stateDir}: ${(error as Error).message}`, {
      code: 'storage_failed',
      hint: `Check that ${file} is on a local disk and writable; it holds no data and may be deleted.`,
      context: { path: file },
      cause: error,
    });
  }
  const held = database;
  let open = true;
  return {
    release() {
      if (!open) return;
      open = false;
      rmSync(holderFile(stateDir), { force: true });
      held.close();
    },
  };
}

// Only a file that is new is opened here: closing one that is locked would drop this process's lock.
function createPrivately(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Creates the state folder for its owner only (0700). */
export function makeStateFolder(stateDir: string): void {
  try {
    mkdirSync(stateDir, { recursive: true, mode: 0o700 });
    // One that was there before may let others in.
    if ((statSync(stateDir).mode & 0o077) !== 0) chmodSync(stateDir, 0o700);
  } catch (error) {
    throw new StorageError(`cannot create the state folder ${stateDir}: ${(error as Error).message}`, {
      code: 'storage_failed',
      hint: 'Name a writable folder as stateDir in sluice.yaml. Nothing was requested.',
      context: { path: stateDir },
      cause: error,
    });
  }
}

/**
 * Whether a run of this machine seems to hold the folder, without touching the lock: a look must never be
 * what makes a run fail.
 */
export function isRunUnderWay(stateDir: string): boolean {
  const holder = readHolder(stateDir);
  if (holder === undefined) return false;
  // Another machine's processes cannot be asked for.
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

// SQLITE_BUSY and SQLITE_LOCKED.
function isBusy(error: unknown): boolean {
  const code = (error as { errcode?: unknown }).errcode;
  return code === 5 || code === 6;
}
