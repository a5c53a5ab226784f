import {
  type ErrorCode,
  type ExitCode,
  LockedError,
  NetworkError,
  QuotaError,
  type SyncError,
} from './errors.ts';
import type { PublishedTables } from './destination.ts';
import type { PublishedLake } from './lake.ts';
import type { QuotaSnapshot } from './quota.ts';
import { formatCount, formatCountOf, verbOf } from '../text/format-count.ts';

/** How complete one scan's copy is; see docs/delivery.md for what each proves. */
export const verdicts = ['verified', 'unverified', 'drifted', 'partial'] as const;
export type Verdict = (typeof verdicts)[number];

/**
 * The outcome of one stream in a run. `fresh` sent no request; `unavailable` is a built-in stream that
 * answered 404.
 */
export type StreamStatus = 'complete' | 'fresh' | 'unavailable' | 'failed' | 'stopped' | 'not-run';

export interface ReportedError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint: string;
  readonly exitCode: ExitCode;
  /** ISO time at which running again makes progress, if the server or the quota determines it. */
  readonly resumeAt?: string;
  /** What was in the way of a run that was turned away, in the past tense. */
  readonly wasHeld?: string;
}

/** An error as reports carry it: values only, no stack. */
export function toReportedError(error: SyncError): ReportedError {
  const { code, message, hint, exitCode } = error;
  const ms = error instanceof QuotaError || error instanceof NetworkError ? error.resumeAtMs : undefined;
  const wasHeld = error instanceof LockedError ? error.wasHeld : undefined;
  return {
    code,
    message,
    hint,
    exitCode,
    ...(ms !== undefined && { resumeAt: new Date(ms).toISOString() }),
    ...(wasHeld !== undefined && { wasHeld }),
  };
}

export interface RowCounts {
  readonly read: number;
  readonly inserted: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly deleted: number;
  readonly quarantined: number;
}

export const noRows: RowCounts = {
  read: 0,
  inserted: 0,
  updated: 0,
  unchanged: 0,
  deleted: 0,
  quarantined: 0,
};

export interface StreamReport {
  readonly stream: string;
  readonly slice: string;
  readonly table: string;
  readonly status: StreamStatus;
  /**
   * `rebuild`: the table was rebuilt from archived pages; `retry`: quarantined records were retried; `state`:
   * the checkpoint was imported or reset. undefined if no scan was started.
   */
  readonly mode: 'full' | 'incremental' | 'rebuild' | 'retry' | 'state' | undefined;
  readonly verdict: Verdict | undefined;
  /** Why the verdict is not `verified`, or what was noticed. */
  readonly reasons: readonly string[];
  readonly rowsDeclared: number | undefined;
  readonly rows: RowCounts;
  readonly rowsInTable: number | undefined;
  /** Rows the API counts without a start date; undefined if it was not asked, or declares no total. */
  readonly rowsInApi?: number | undefined;
  /**
   * Rows of the API that are missing from the table, after deleted, kept and quarantined ones are accounted
   * for; negative: rows of the table that the API does not have. Undefined if nothing was counted.
   */
  readonly difference?: number | undefined;
  readonly pages: number;
  readonly requests: number;
  /** Times the scan was restarted because the data changed under it. */
  readonly rescans: number;
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly watermark: string | undefined;
  readonly key: { readonly columns: readonly string[]; readonly origin: 'config' | 'learned' } | undefined;
  readonly schemaChanges: readonly SchemaChange[];
  readonly error: ReportedError | undefined;
}

export interface SchemaChange {
  readonly column: string;
  readonly change: 'added' | 'widened' | 'replaced' | 'removed';
  readonly fromType: string | undefined;
  /** undefined for a column that was removed. */
  readonly toType: string | undefined;
}

/** `running` is a run that has not ended yet, or was killed unnoticed; `killed` is one that certainly was. */
export type RunStatus = 'complete' | 'partial' | 'failed' | 'stopped' | 'interrupted' | 'running' | 'killed';

/** True for a status whose run left no exit code and no end. */
export function isUnfinished(status: string): boolean {
  return status === 'running' || status === 'killed';
}

/** A run as JSON has it: one that did not record its end has no exit code and no end. */
export function withoutEnd<T extends { readonly status: string }>(run: T): T {
  return isUnfinished(run.status) ? { ...run, exitCode: null, finishedAt: null } : run;
}

export interface RunReport {
  readonly runId: string;
  readonly status: RunStatus;
  /** Means nothing while the status is unfinished. */
  readonly exitCode: ExitCode;
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly requests: number;
  readonly retries: number;
  readonly rateLimited: number;
  readonly waitedMs: number;
  readonly rows: RowCounts;
  readonly streams: readonly StreamReport[];
  readonly warnings: readonly string[];
  /** What readers open and its size; `lake`, `ducklake`, `iceberg`, `postgres` and `motherduck` where one was published, too. */
  readonly published:
    | {
        readonly path: string;
        readonly bytes: number;
        readonly lake?: PublishedLake;
        readonly ducklake?: PublishedTables;
        readonly iceberg?: PublishedTables;
        readonly postgres?: PublishedTables;
        readonly motherduck?: PublishedTables;
      }
    | undefined;
  readonly quota: QuotaSnapshot | undefined;
  /** ISO time at which running again makes progress, when the run stopped for the quota. */
  readonly resumeAt: string | undefined;
  readonly error: ReportedError | undefined;
  readonly version: string;
}

/**
 * Whether the outcome of a stream is that of a sync. A rebuild and a retry of quarantined records send no
 * request, so they say nothing about how complete the copy is.
 */
export function isOfSync({
  mode,
  status,
}: {
  readonly mode: string | undefined;
  readonly status: string;
}): boolean {
  return mode === 'full' || mode === 'incremental' || status === 'fresh' || status === 'not-run';
}

/** The kind of a run; only a sync sends requests. */
export type RunKind = 'sync' | 'rebuild' | 'retry' | 'state';

/** The kind of a run by what it did to its streams. */
export function kindOf(run: Parameters<typeof isSync>[0]): RunKind {
  if (isSync(run)) return 'sync';
  const modes = run.streams.map(({ mode }) => mode);
  if (modes.includes('rebuild')) return 'rebuild';
  // Earlier versions recorded no mode for a retry.
  return modes.includes('state') ? 'state' : 'retry';
}

/**
 * Whether a run is a sync. A run that ended before its first stream is one, as only syncs record their start.
 */
export function isSync({
  status,
  streams,
}: {
  readonly status: string;
  readonly streams: readonly Parameters<typeof isOfSync>[0][];
}): boolean {
  return streams.length === 0 ? isUnfinished(status) : streams.some(isOfSync);
}

/** Why a scan with rows that share keys is not `verified`; `records` are those received. */
export function describeSharedKeys(records: number, shared: number): string {
  const came = `${formatCountOf(records - shared, 'distinct key')} in ${formatCountOf(records, 'record')}`;
  return `${came}: ${formatCount(shared)} ${verbOf(shared, 'shares', 'share')} ${SHARED_KEYS}`;
}

/** Whether a reason of a verdict is that one. */
export function isOfSharedKeys(reason: string): boolean {
  return reason.endsWith(SHARED_KEYS);
}

const SHARED_KEYS = 'the key of another';
