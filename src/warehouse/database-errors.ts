import { basename } from 'node:path';
import { RELOAD } from '../text/reload-advice.ts';
import {
  AbortedError,
  BugError,
  type ErrorOptions,
  LockedError,
  StorageError,
  SyncError,
} from '../model/errors.ts';

/** A database file with content that the engine cannot have written. */
export class DamagedFileError extends StorageError {}

/** An intact file that was replaced by an older copy. */
export class OutdatedFileError extends DamagedFileError {
  /** The destination with what it lacks. */
  readonly place: string;

  constructor(message: string, options: ErrorOptions & { readonly place: string }) {
    super(message, options);
    this.place = options.place;
  }
}

// These quote the statement, which may contain any user text.
const STATEMENT_ERROR =
  /^(?:Parser|Binder|Catalog|Conversion|Constraint|Invalid Input|Out of Range|Permission|Not implemented) Error/;
// Has the prefix of the error that made the replay fail.
const REPLAY_ERROR = /^\w+(?: \w+)? Error: Failure while replaying WAL file/;
const REFUSED_BY_SYSTEM =
  /No space left|File too large|Disk quota|Could not write|Input\/output error|Too many open files|Permission denied|Read-only file system|Cannot allocate memory/;
// Of the engine's own code, behind an internal error.
const STACK_TRACE = /\s+Stack Trace:[\s\S]*$/;
const OUT_OF_MEMORY = /Out of Memory Error|(?:could not|failed to) (?:allocate|pin block)/;
const NEWER_FORMAT = /version number \d+, but we can only read/;
const DAMAGE = /not a valid DuckDB database|Corrupt|checksum/;

const RESTORE_WORK_FILE =
  'Run `sluice sync`: it keeps a damaged work file under another name and restores its state from the published file. If nothing is published, move it aside (do not delete it): ' +
  RELOAD;
const PUBLISH_AGAIN =
  'Run `sluice sync`: it publishes this file again from the state folder; fresh streams cost no request. If that does not help, move the file away first. Without a state folder, put a backup of the file in its place.';
const MOVE_FOLDER =
  'Put back the file that was there, or move the folder away and run `sluice sync`: it restores the state from what is published. If nothing is published, ' +
  RELOAD;

/** Whether a statement failed because a table does not exist. */
export function isUnknownTable(error: unknown): boolean {
  const cause = error instanceof SyncError ? error.cause : error;
  return cause instanceof Error && cause.message.startsWith('Catalog Error: Table with name');
}

/** The engine's words without the stack trace of its own code. */
export function cutStackTrace(message: string): string {
  return message.replace(STACK_TRACE, '');
}

/** Maps an engine error to an error class of ours; the engine gives messages without codes. */
export function wrapDatabaseError(thrown: unknown, file: string, isPublished = false): SyncError {
  if (thrown instanceof SyncError) return thrown;
  const message = cutStackTrace(thrown instanceof Error ? thrown.message : String(thrown));
  const isReplay = REPLAY_ERROR.test(message);
  if (STATEMENT_ERROR.test(message) && !isReplay) return toBugError(message, file, thrown);
  const options = { context: { path: file }, cause: thrown };
  if (message.includes('Could not set lock on file')) {
    const holder = holderOf(message);
    return new LockedError(`${file} is open in another process: ${holder ?? 'its holder is unknown'}`, {
      code: 'state_locked',
      hint: 'Close that process, or let it finish, and run again. Nothing was changed.',
      wasHeld: `${holder ?? 'another program'} had ${file} open`,
      ...options,
    });
  }
  if (message.startsWith('INTERRUPT')) {
    return new AbortedError('the running statement was interrupted', {
      code: 'aborted',
      hint: 'Run again to continue from the last commit.',
      cause: thrown,
    });
  }
  if (REFUSED_BY_SYSTEM.test(message)) {
    // The engine also writes spill files, attached files and copies.
    const refused = /file "(.+?)"/.exec(message)?.[1] ?? file;
    return new StorageError(`the system failed to read or write ${refused}: ${message}`, {
      code: 'storage_failed',
      hint: 'Free some disk space or fix the permissions and run again; everything committed before is intact.',
      ...options,
    });
  }
  if (OUT_OF_MEMORY.test(message)) {
    return new StorageError(`the warehouse ran out of memory: ${message.split('\n', 1)[0] ?? ''}`, {
      code: 'storage_failed',
      hint: 'Give the process more memory (or disk space to spill to) and run again; everything committed before is intact.',
      ...options,
    });
  }
  if (NEWER_FORMAT.test(message)) {
    return new StorageError(`${file} was written by a different version of the engine: ${message}`, {
      code: 'state_damaged',
      hint: 'Upgrade Sluice; the file was not touched.',
      ...options,
    });
  }
  if (message.includes(`"${file}": Is a directory`)) {
    return new StorageError(`${file} is a folder and must be a file`, {
      code: 'state_damaged',
      hint: isPublished ? PUBLISH_AGAIN : MOVE_FOLDER,
      ...options,
    });
  }
  if (isReplay || DAMAGE.test(message) || isCutShort(message, file)) {
    return new DamagedFileError(`${file} is damaged: ${message}`, {
      code: 'state_damaged',
      hint: isPublished ? PUBLISH_AGAIN : RESTORE_WORK_FILE,
      ...options,
    });
  }
  if (/^(?:IO|FATAL) Error|invalidated/.test(message)) {
    return new StorageError(`the engine closed ${file} after an error: ${message}`, {
      code: 'storage_failed',
      hint: 'Check the disk and run again; everything committed before is intact.',
      ...options,
    });
  }
  return toBugError(message, file, thrown);
}

/** Whether a statement ran out of the engine's memory. */
export function isOutOfMemory(error: unknown): boolean {
  return (
    error instanceof StorageError && error.cause instanceof Error && OUT_OF_MEMORY.test(error.cause.message)
  );
}

/** Whether the engine can no longer be used with its file. */
export function isFatal(error: SyncError): boolean {
  if (error instanceof DamagedFileError) return true;
  const message = error.cause instanceof Error ? error.cause.message : '';
  return /^FATAL|invalidated/.test(message) && !STATEMENT_ERROR.test(message);
}

// On a full disk a spill file may be truncated as well; that does not mean that the file itself is.
function isCutShort(message: string, file: string): boolean {
  const named = /Could not read enough bytes from file "(.+?)"/.exec(message)?.[1];
  return named !== undefined && basename(named).startsWith(basename(file));
}

// Any other rejected statement is a defect of Sluice.
function toBugError(message: string, file: string, thrown: unknown): BugError {
  return new BugError(`the warehouse rejected a statement: ${message}`, {
    code: 'bug',
    hint: 'Everything committed before is intact. This is a defect of Sluice; please report it with the text above.',
    context: { path: file },
    cause: thrown,
  });
}

function holderOf(message: string): string | undefined {
  return /held in (.+? \(PID \d+\))/.exec(message)?.[1];
}
