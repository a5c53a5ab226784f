import { randomBytes } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { lockDestinations } from '../../state/destination-lock.ts';
import { makeFolders } from '../files/make-folders.ts';
import { resolveLinks } from '../files/real-paths.ts';
import { assertNotAborted, toAbortError } from '../model/abort.ts';
import type { AccountData } from '../model/account.ts';
import type { JointFile } from '../model/accounts-report.ts';
import { type Clock, systemClock } from '../model/clock.ts';
import { LockedError, PublishError, StorageError, type SyncError, toSyncError } from '../model/errors.ts';
import type { StateLock } from '../model/state-lock.ts';
import { putInPlace, removeLeftovers, temporaryFor } from '../publish/put-in-place.ts';
import {
  ACCOUNTS_ALIAS,
  attachAccounts,
  type AttachedAccount,
  findAccounts,
  findBrokenAccount,
  type FoundAccounts,
} from '../warehouse/attach-accounts.ts';
import { Database } from '../warehouse/database.ts';
import { READ_EACH_SYNC_BYTES } from '../warehouse/fingerprint-file.ts';
import { interruptOnAbort } from '../warehouse/interrupt-on-abort.ts';
import {
  type AccountsFileKind,
  describeSources,
  hasItsContent,
  readSources,
  writeContent,
  writeSources,
} from './accounts-file.ts';
import { refuseForeign, refuseLost } from './own-published.ts';

/** How long to wait for another process that writes the same file, ms: what it has read may be outdated. */
const WAIT_MS = 60_000;
const LOOK_MS = 100;

/** Options of both kinds of files. */
export interface ReplaceOptions {
  readonly clock?: Clock;
  readonly signal?: AbortSignal | undefined;
  /** How long to wait while another process writes the file, ms; a minute when left out. */
  readonly waitMs?: number;
  /** Path of the config, or another one that no other config has. */
  readonly config?: string | undefined;
}

/** A file to make from the files of accounts. */
export interface AccountsFileJob extends ReplaceOptions {
  readonly kind: AccountsFileKind;
  /** Absolute path. */
  readonly file: string;
  readonly accounts: readonly AccountData[];
  /** Writes everything but `_sluice.meta` into the new file; the accounts' files are attached to it. */
  readonly fill: (database: Database, found: readonly AttachedAccount[]) => Promise<void>;
  /** Called with the finished file, before it is put in its place. */
  readonly onReady?: (file: string) => Promise<void>;
}

type Job = AccountsFileJob & FoundAccounts;

/**
 * Makes a file from the files of accounts and puts it in its place, whole or not at all (invariant 4). A file made from
 * the same commits is left alone, unless it is damaged, or another program has changed it. After a kill at any point
 * there is the old file or the new one, and the next call removes temporary files.
 *
 * @throws PublishError: 2 if the file there must not be replaced, 6 if something failed; LockedError (75); the signal's own error.
 * The old file is unchanged.
 */
export async function replaceAccountsFile(job: AccountsFileJob): Promise<JointFile> {
  const { signal } = job;
  // A rename over a link would replace the link and leave its target unchanged.
  const target = resolveLinks(job.file);
  let lock: StateLock | undefined;
  try {
    assertNotAborted(signal);
    const all: Job = { ...job, ...findAccounts(job.accounts) };
    refuseLost(all.absent);
    if (all.found.length === 0 && !existsSync(target)) return describe(all, false);
    makeFolders(dirname(target));
    lock = await takeLock(target, job);
    return describe(all, await replace({ ...all, file: target }));
  } catch (thrown) {
    throw signal?.aborted === true ? toAbortError(signal) : describeFailure(job.file, toSyncError(thrown));
  } finally {
    await lock?.release();
  }
}

function describe({ file, absent }: Job, isReplaced: boolean): JointFile {
  const leftOut = absent.map(({ account }) => account);
  return { path: file, isReplaced, bytes: statSync(file, { throwIfNoEntry: false })?.size ?? 0, leftOut };
}

async function takeLock(
  target: string,
  { clock = systemClock, signal, waitMs = WAIT_MS }: ReplaceOptions,
): Promise<StateLock> {
  const startedMs = clock.monotonic();
  for (;;) {
    try {
      return await lockDestinations([{ target }]);
    } catch (error) {
      if (!(error instanceof LockedError)) throw error;
      if (clock.monotonic() - startedMs < waitMs) await clock.sleep(LOOK_MS, signal);
      else
        throw new LockedError(`another run writes ${target}`, {
          code: 'state_locked',
          hint: 'Let it finish, then run again: that needs no request. The data of each account is published where it belongs.',
          context: { path: target },
          cause: error,
        });
    }
  }
}

/** Replaces the file unless it holds all of this already; its lock is held. */
async function replace(job: Job): Promise<boolean> {
  const { file: target, found, absent, kind, config } = job;
  const accounts = job.accounts.map(({ account }) => account);
  const look = () => readSources(target, { kind, accounts, config });
  const before = await look();
  refuseLost(
    absent,
    before?.map(({ account }) => account),
  );
  if (found.length === 0) return false;
  await removeLeftovers(target);
  // In a folder of its own: the engine writes its log and spill files next to the file.
  const folder = temporaryFor(target, randomBytes(6).toString('hex'));
  const file = join(folder, 'new.duckdb');
  try {
    await mkdir(folder, { mode: 0o700 });
    const isDue = await build(job, file, JSON.stringify(before));
    if (!isDue) return false;
    assertIsComplete(file);
    await job.onReady?.(file);
    await putInPlace(file, target, async () => void (await look()));
    return true;
  } finally {
    await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  }
}

/** Makes the new file; false if it would be the same as the one that is there. */
async function build(job: Job, file: string, before: string | undefined): Promise<boolean> {
  const { found, signal } = job;
  const database = await Database.open({
    file,
    alias: ACCOUNTS_ALIAS,
    folders: [dirname(file), ...found.flatMap(({ lake }) => lake ?? [])],
    attachMore: (session) => attachAccounts(session, found),
    endedBy: signal,
  });
  try {
    return await interruptOnAbort(database, signal, async () => {
      await refuseForeign(database, found, job.accounts);
      const sources = await describeSources(database, found);
      if (JSON.stringify(sources) === before && (await isIntact(job.file))) return false;
      await database.run('CREATE SCHEMA _sluice');
      // Each account's part of a table takes memory on each thread: on one, hundreds fit, at half the effort.
      await database.beginLoad(Infinity);
      await job.fill(database, found);
      await writeSources(database, job.file, job, sources);
      await database.checkpoint();
      if (job.kind === 'views' || statSync(file).size > READ_EACH_SYNC_BYTES) return true;
      await writeContent(database);
      await database.checkpoint();
      return true;
    });
  } catch (error) {
    // An error about the new file says nothing about the files of the accounts.
    const cause = error instanceof StorageError ? error.cause : error;
    const isOwn = cause instanceof Error && cause.message.includes(dirname(file));
    throw (isOwn ? undefined : await findBrokenAccount(found, error)) ?? error;
  } finally {
    await database.release();
  }
}

/** Whether a file is as it was written; one that is too large to read after every run counts as such. */
async function isIntact(file: string): Promise<boolean> {
  return statSync(file).size > READ_EACH_SYNC_BYTES || hasItsContent(file);
}

function assertIsComplete(file: string): void {
  if (!existsSync(`${file}.wal`)) return;
  throw new StorageError(`${file} was not written completely`, {
    code: 'storage_failed',
    hint: 'Run again: the data of each account is safe.',
    context: { path: file },
  });
}

function describeFailure(file: string, error: SyncError): SyncError {
  if (!(error instanceof StorageError)) return error;
  const isDamage = error.code === 'state_damaged';
  return new PublishError(`cannot write ${file}: ${error.message}`, {
    code: 'publish_failed',
    hint: isDamage
      ? `${file} is unchanged. ${error.hint}`
      : 'The data of each account is published where it belongs, and this file is unchanged. Fix the cause (disk space, permissions) and run again: that needs no request.',
    context: { path: file },
    cause: error,
  });
}
