/** What the engine may do about an error; only `sync/run.ts` acts on it. */
export type Recovery = 'stop-stream' | 'stop-run';

/** Every code that an error of Sluice can have; `docs/errors.md` explains each. */
export const errorCodes = [
  'config_not_found',
  'config_invalid',
  'filter_ignored',
  'usage_invalid',
  'key_missing',
  'identity_mismatch',
  'key_rejected',
  'key_forbidden',
  'request_rejected',
  'stream_not_found',
  'response_invalid',
  'contract_broken',
  'redirect_refused',
  'page_unreadable',
  'source_drifted',
  'source_emptied',
  'deletes_refused',
  'network_unreachable',
  'server_failed',
  'quota_exhausted',
  'deadline_reached',
  'request_limit_reached',
  'state_locked',
  'state_damaged',
  'storage_failed',
  'archive_incomplete',
  'archive_damaged',
  'verify_failed',
  'verify_differs',
  'publish_refused',
  'publish_failed',
  'query_failed',
  'strict_breach',
  'aborted',
  'bug',
] as const;
export type ErrorCode = (typeof errorCodes)[number];

/** Where an error happened, for the message and for logs; never holds a secret. */
export interface ErrorContext {
  readonly stream?: string;
  readonly offset?: number;
  readonly status?: number;
  readonly requestId?: string;
  readonly path?: string;
}

export interface ErrorOptions {
  readonly code: ErrorCode;
  /** What to do next, as a sentence to the user. */
  readonly hint: string;
  readonly context?: ErrorContext;
  readonly cause?: unknown;
}

/**
 * Base of every error a user may see: says what failed, on what, and (in `hint`) what to do next.
 * `exitCode` is the process exit code of a run that ends with it.
 */
export abstract class SyncError extends Error {
  abstract readonly exitCode: ExitCode;
  readonly recovery: Recovery = 'stop-stream';
  readonly code: ErrorCode;
  readonly hint: string;
  readonly context: ErrorContext;

  constructor(message: string, options: ErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = options.code;
    this.hint = options.hint;
    this.context = options.context ?? {};
  }

  /** The same error with other advice, from a caller that knows more of what is safe. */
  withHint(hint: string): this {
    const copy = Object.create(Object.getPrototypeOf(this) as object) as this;
    const values = Object.getOwnPropertyDescriptors(this);
    // The stack may be an accessor, which only gives that of a real error.
    const stack = { value: this.stack, configurable: true };
    return Object.defineProperties(copy, { ...values, hint: { ...values.hint, value: hint }, stack });
  }
}

/** Exit codes are stable: scripts depend on them. */
export type ExitCode = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 75 | 130 | 143;

/** The configuration or the command line is wrong; nothing was requested. */
export class ConfigError extends SyncError {
  readonly exitCode = 2;
  override readonly recovery = 'stop-run';
}

/** The config of one stream does not fit its data; other streams are not affected. */
export class StreamConfigError extends SyncError {
  readonly exitCode = 2;
}

/** A configured key does not fit the rows of a scan; its pages are kept, because the key may be what has to change. */
export class KeyMisfitError extends StreamConfigError {}

/** The key was rejected (401): no other stream can succeed either. */
export class AuthError extends SyncError {
  readonly exitCode = 3;
  override readonly recovery = 'stop-run';
}

/** The key is fine but may not read this endpoint (403). */
export class ForbiddenError extends SyncError {
  readonly exitCode = 3;
}

/** The source broke its contract: a malformed response, or data that changed while it was read. */
export class ResponseError extends SyncError {
  readonly exitCode = 4;
}

/** A scan would delete more rows than its stream allows; its pages are good, and kept. */
export class RowLossError extends SyncError {
  readonly exitCode = 4;
}

/**
 * Records break the stream's contract. The pages are kept for one more run, because the contract may be what has to
 * change.
 */
export class ContractError extends SyncError {
  readonly exitCode = 4;
}

/** The endpoint does not exist (404). */
export class NotFoundError extends SyncError {
  readonly exitCode = 4;
}

/** One endpoint that answers 404 may not be in the customer's plan; if all do, the base URL is wrong. */
export function buildNothingFoundError(baseUrl: URL): NotFoundError {
  return new NotFoundError(`every endpoint below ${baseUrl.href} answers 404`, {
    code: 'stream_not_found',
    hint: 'Check source.baseUrl in the config (it ends in a version segment such as /v1) and the paths of the streams.',
  });
}

/** The server could not be reached, or kept failing; trying again later may help. */
export class NetworkError extends SyncError {
  readonly exitCode = 75;
  override readonly recovery: Recovery;
  /** Epoch milliseconds before which the server asked for no further request. */
  readonly resumeAtMs: number | undefined;

  constructor(message: string, options: ErrorOptions & { readonly resumeAtMs?: number | undefined }) {
    super(message, options);
    this.resumeAtMs = options.resumeAtMs;
    // An unreachable host affects every stream; a failing one may fail only for this stream.
    this.recovery = options.code === 'network_unreachable' ? 'stop-run' : 'stop-stream';
  }
}

/** The quota, a deadline or a request limit ended the run with its progress saved. */
export class QuotaError extends SyncError {
  readonly exitCode = 75;
  override readonly recovery = 'stop-run';
  /** Epoch milliseconds at which running again makes progress, when known. */
  readonly resumeAtMs: number | undefined;

  constructor(message: string, options: ErrorOptions & { readonly resumeAtMs?: number | undefined }) {
    super(message, options);
    this.resumeAtMs = options.resumeAtMs;
  }
}

/** Another run holds the state folder, or a reader holds a file we need. */
export class LockedError extends SyncError {
  readonly exitCode = 75;
  override readonly recovery = 'stop-run';
  /** What was in the way, in the past tense, for who is told later; by default the message says it. */
  readonly wasHeld: string | undefined;

  constructor(message: string, options: ErrorOptions & { readonly wasHeld?: string }) {
    super(message, options);
    this.wasHeld = options.wasHeld;
  }
}

/** Another run may hold the state by now: this one changes nothing any more, wherever the error came up. */
export class LostLockError extends LockedError {}

/** The disk, the work file or the state folder failed. */
export class StorageError extends SyncError {
  readonly exitCode = 6;
  override readonly recovery = 'stop-run';
}

/** The published file could not be written, or was not written by Sluice. */
export class PublishError extends SyncError {
  readonly exitCode: ExitCode;
  override readonly recovery = 'stop-run';

  constructor(message: string, options: ErrorOptions & { readonly exitCode?: 2 | 6 }) {
    super(message, options);
    this.exitCode = options.exitCode ?? 6;
  }
}

/** A warning became an error because `--strict` was given. */
export class StrictError extends SyncError {
  readonly exitCode = 4;
}

/** What ended a stream of a run also ends this command, with the same exit code. */
export class StreamEndError extends SyncError {
  readonly exitCode: ExitCode;

  constructor(message: string, options: ErrorOptions & { readonly exitCode: ExitCode }) {
    super(message, options);
    this.exitCode = options.exitCode;
  }
}

/** The caller's signal ended the run; what was committed stays committed. */
export class AbortedError extends SyncError {
  readonly exitCode: ExitCode;
  override readonly recovery = 'stop-run';

  constructor(message: string, options: ErrorOptions & { readonly exitCode?: 130 | 143 }) {
    super(message, options);
    this.exitCode = options.exitCode ?? 130;
  }
}

/** Something only a bug in Sluice explains; the one error shown with its stack. */
export class BugError extends SyncError {
  readonly exitCode = 1;
  override readonly recovery = 'stop-run';
}

/**
 * Wraps any thrown value: errors of Sluice stay unchanged, operating system errors are storage failures, and
 * anything else is a bug in Sluice.
 */
export function toSyncError(thrown: unknown): SyncError {
  if (thrown instanceof SyncError) return thrown;
  if (isSystemError(thrown) && thrown.code !== 'EMFILE') {
    return new StorageError(`the operating system reported: ${thrown.message}`, {
      code: 'storage_failed',
      hint: `${adviseOn(thrown)}, then run again. Everything committed before is intact.`,
      ...(thrown.path === undefined ? {} : { context: { path: thrown.path } }),
      cause: thrown,
    });
  }
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  if (/too many open files/i.test(message)) {
    return new StorageError(`the operating system reported: ${message}`, {
      code: 'storage_failed',
      hint: 'Allow the process more open files (ulimit -n) and run again; everything committed before is intact.',
      cause: thrown,
    });
  }
  return new BugError(`unexpected: ${message}`, {
    code: 'bug',
    hint: 'This is a bug in Sluice; committed data is safe. Please report it with the text above.',
    cause: thrown,
  });
}

/** A file system error that no space and no permission helps with. */
const MISPLACED: ReadonlySet<string> = new Set(['EISDIR', 'ENOTDIR', 'EEXIST', 'ENOTEMPTY']);

function adviseOn({ code = '', path, dest = path }: SystemError): string {
  if (!MISPLACED.has(code) || dest === undefined) return 'Free some space or fix the permissions';
  if (code === 'ENOTDIR')
    return `${dest}, or a part of its path, is a file where a folder belongs: move that file away`;
  return `A folder is where a file belongs, or a file where a folder belongs: move ${dest} away`;
}

type SystemError = Error & { readonly path?: string; readonly dest?: string; readonly code?: string };

// Node marks errors of system calls: ENOSPC, EACCES, EIO, EMFILE, …
function isSystemError(thrown: unknown): thrown is SystemError {
  return thrown instanceof Error && 'syscall' in thrown && 'errno' in thrown;
}
