import { type ErrorCode, type ExitCode, NetworkError, QuotaError, type SyncError } from './errors.ts';
import type { PublishedLake } from './lake.ts';
import type { QuotaSnapshot } from './quota.ts';
import { formatCount, formatCountOf, verbOf } from './format-count.ts';

/** How complete one scan's copy is; see docs/delivery.md for what each proves. */
export type Verdict = 'verified' | 'unverified' | 'drifted' | 'partial';

/** What became of one stream in a run. `fresh` spent no request; `unavailable` answered 404 and nobody asked for it. */
export type StreamStatus = 'complete' | 'fresh' | 'unavailable' | 'failed' | 'stopped' | 'not-run';

export interface ReportedError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint: string;
  readonly exitCode: ExitCode;
  /** ISO time at which running again makes progress, where server or quota told it. */
  readonly resumeAt?: string;
}

/** An error as reports carry it: values only, no stack. */
export function toReportedError(error: SyncError): ReportedError {
  const { code, message, hint, exitCode } = error;
  const ms = error instanceof QuotaError || error instanceof NetworkError ? error.resumeAtMs : undefined;
  return { code, message, hint, exitCode, ...(ms !== undefined && { resumeAt: new Date(ms).toISOString() }) };
}

export interface RowCounts {
  readonly read: number;
  readonly inserted: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly deleted: number;
  readonly quarantined: number;
}

export interface StreamReport {
  readonly stream: string;
  readonly slice: string;
  readonly table: string;
  readonly status: StreamStatus;
  /**
   * `rebuild`: the table was made anew of archived pages; `retry`: records of the quarantine were tried again; `state`: the
   * checkpoint was imported or reset. undefined where no scan was begun.
   */
  readonly mode: 'full' | 'incremental' | 'rebuild' | 'retry' | 'state' | undefined;
  readonly verdict: Verdict | undefined;
  /** Why the verdict is not `verified`, or what was noticed. */
  readonly reasons: readonly string[];
  readonly rowsDeclared: number | undefined;
  readonly rows: RowCounts;
  readonly rowsInTable: number | undefined;
  /** Rows the API counts without a start date; undefined where it was not asked, or declares no total. */
  readonly rowsInApi?: number | undefined;
  /**
   * Rows the API has and the table lacks, deleted, kept and quarantined ones accounted for; negative: rows of the
   * table that the API does not have. Undefined where nothing was counted.
   */
  readonly difference?: number | undefined;
  readonly pages: number;
  readonly requests: number;
  /** Times the scan was begun anew because the data moved under it. */
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

/** `running` is a run that has not ended yet, or was killed and nobody noticed; `killed` one that surely was. */
export type RunStatus = 'complete' | 'partial' | 'failed' | 'stopped' | 'interrupted' | 'running' | 'killed';

/** True for a status whose run left no exit code and no end. */
export function isUnfinished(status: string): boolean {
  return status === 'running' || status === 'killed';
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
  /** The DuckDB file that readers open and its size; `lake` where one was published, too. */
  readonly published:
    { readonly path: string; readonly bytes: number; readonly lake?: PublishedLake } | undefined;
  readonly quota: QuotaSnapshot | undefined;
  /** ISO time at which running again makes progress, when the run stopped for the quota. */
  readonly resumeAt: string | undefined;
  readonly error: ReportedError | undefined;
  readonly version: string;
}

/**
 * Whether what became of a stream is a sync's to tell: a rebuild and a retry of quarantined records ask the API
 * nothing, so they say nothing of how complete the copy is.
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

/** What kind of run it was; all but a sync ask the API nothing. */
export type RunKind = 'sync' | 'rebuild' | 'retry' | 'state';

/** The kind of a run by what it did to its streams. */
export function kindOf(run: Parameters<typeof isSync>[0]): RunKind {
  if (isSync(run)) return 'sync';
  const modes = run.streams.map(({ mode }) => mode);
  if (modes.includes('rebuild')) return 'rebuild';
  // A retry left no mode before there was one for it.
  return modes.includes('state') ? 'state' : 'retry';
}

/** Whether a run is a sync. One that was ended before its first stream is, as nothing else tells of its beginning. */
export function isSync({
  status,
  streams,
}: {
  readonly status: string;
  readonly streams: readonly Parameters<typeof isOfSync>[0][];
}): boolean {
  return streams.length === 0 ? isUnfinished(status) : streams.some(isOfSync);
}

/** Why a scan is not `verified` whose rows share keys; `records` are those that came. */
export function describeSharedKeys(records: number, shared: number): string {
  const came = `${formatCountOf(records - shared, 'distinct key')} came of ${formatCountOf(records, 'record')}`;
  return `${came}: ${formatCount(shared)} ${verbOf(shared, 'shares', 'share')} ${SHARED_KEYS}`;
}

/** Whether a reason of a verdict is that one. */
export function isOfSharedKeys(reason: string): boolean {
  return reason.endsWith(SHARED_KEYS);
}

const SHARED_KEYS = 'the key of another';
