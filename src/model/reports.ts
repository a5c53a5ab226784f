import type { NewestData } from './data-age.ts';
import type { QuotaSnapshot } from './quota.ts';
import type { ExitCode } from './errors.ts';
import type { RefusedRun } from './refused-run.ts';
import type { CountedRows } from './stream.ts';
import type { ReportedError, RunKind, RunReport, SchemaChange, Verdict } from './run-report.ts';
import type { RunUnderWay } from './run-under-way.ts';

/** Result of `check`: one line per item, a fix for each failure. */
export interface CheckReport {
  readonly ok: boolean;
  readonly exitCode: number;
  readonly items: readonly CheckItem[];
  /** The first failure with that exit code. */
  readonly error: ReportedError | undefined;
  readonly requestsSpent: number;
  readonly quota: QuotaSnapshot | undefined;
}

export interface CheckItem {
  readonly name: string;
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly detail: string;
  readonly fix: string | undefined;
}

/** A file that readers open and that changed after publishing. */
export interface PublishedFault {
  readonly path: string;
  readonly detail: string;
  readonly fix: string;
}

/** Result of `status`, read from the published file and the small run file only. */
export interface StatusReport {
  readonly duckdbPath: string;
  readonly published: { readonly bytes: number; readonly modifiedAt: string } | undefined;
  /** Where else the config publishes. */
  readonly elsewhere?: readonly PublishedElsewhere[] | undefined;
  readonly streams: readonly StreamStatusRow[];
  readonly quota: QuotaSnapshot | undefined;
  /** The last sync: rebuilds and retries of quarantined records say nothing about the source. */
  readonly lastRun: RunReport | undefined;
  /** Its progress, while it runs. */
  readonly underWay?: RunUnderWay | undefined;
  /** A later sync that left no record of its own: what kept it from starting. */
  readonly refused: RefusedRun | undefined;
  /** Why the records of the state folder cannot be read by this user: what they say is not known then. */
  readonly unreadable?: string | undefined;
  /** Records in quarantine, including those of streams no longer in the config. */
  readonly quarantined: number;
  /** What the next sync restores the state from, if the state folder has none. */
  readonly restoresFrom?: string | undefined;
  /** Why that is not known: a destination could not be asked. */
  readonly restoreUnknown?: ReportedError | undefined;
  /** The work file that has the rows shown here, if nothing is published: the next sync publishes them. */
  readonly unpublished?: string | undefined;
  /** There is neither a state nor anything published to restore it from, but an archive that a rebuild can load. */
  readonly hasArchive?: true | undefined;
  /** Rows that are missing from the files of a lake, or too many; one sentence per table. */
  readonly losses?: readonly string[] | undefined;
  /** Published files that are damaged, or that another program has written into. */
  readonly faults?: readonly PublishedFault[] | undefined;
}

/** A destination that commands do not read. */
export interface PublishedElsewhere {
  /** As lists of destinations show it: the place, and what it is. */
  readonly destination: string;
  /** When the run ended that published there last, ISO; undefined if no run on record did. */
  readonly publishedAt: string | undefined;
}

export interface StreamStatusRow {
  /** The lake does not have the published rows of its table: `losses` says what is missing. */
  readonly isDamaged?: true | undefined;
  /** Its rows were read with a different key, and the current one is not checked for them yet. */
  readonly isUnproved?: true | undefined;
  /** The last sync of it is committed, but not published yet: what is shown here is older, or nothing. */
  readonly isUnpublished?: true | undefined;
  /** Its state was reset, its table is still there: the next sync reads it in full. */
  readonly isReset?: true | undefined;
  /** It was never synced, and the API answered 404 when it was asked last. */
  readonly isUnavailable?: true | undefined;
  readonly stream: string;
  /** Empty for a stream without slices. */
  readonly slice: string;
  /** Of the last scan that was committed; `unsettled` has what came after it. */
  readonly verdict: Verdict | undefined;
  /** Why the verdict is `unverified`, if the run that found it is still on record. */
  readonly doubt?: string | undefined;
  /** The last attempt, if it failed or stopped. */
  readonly unsettled: UnsettledAttempt | undefined;
  readonly rows: number | undefined;
  /** Its records in quarantine. */
  readonly quarantined: number;
  readonly watermark: string | undefined;
  /** The newest data of a stream with a cursor: how fresh the source is, not the sync. */
  readonly newest: NewestData | undefined;
  /** ISO time of the start of the last verified scan. */
  readonly verifiedAt: string | undefined;
  readonly fresh: boolean;
  /** What the API and the table counted when they were last compared. */
  readonly counts?: CountedRows | undefined;
  /** Why the next full refresh should not wait; undefined if it may. */
  readonly fullRefreshDue?: string | undefined;
  /** ISO time from which a sync does that, if one did shortly before; undefined if the next sync may. */
  readonly fullRefreshFrom?: string | undefined;
  /** ISO time at which the last full scan began that was verified, and the date from which verified scans read since. */
  readonly wholeAt?: string | undefined;
  readonly provedFrom?: string | undefined;
  readonly keyColumns: readonly string[] | undefined;
  readonly keyState: 'config' | 'provisional' | 'proved' | undefined;
}

/** A last attempt at a stream that failed or was stopped. */
export interface UnsettledAttempt {
  readonly runId: string;
  readonly startedAt: string;
  readonly status: 'failed' | 'stopped';
  readonly error: ReportedError | undefined;
}

/** One row of `runs`. */
export interface RunSummary {
  readonly runId: string;
  readonly kind: RunKind;
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly status: string;
  readonly exitCode: number;
  readonly requests: number;
  readonly waitedMs: number;
  readonly rowsRead: number;
  readonly rowsInserted: number;
  readonly rowsUpdated: number;
  readonly rowsUnchanged: number;
}

/** Rows of `query`, values already as text or JSON-safe scalars. */
export interface QueryResult {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly QueryCell[])[];
}
export type QueryCell = string | number | boolean | null;

/** What a rebuild from archived pages did, or with `dryRun` would do. */
export interface RebuildReport {
  readonly dryRun: boolean;
  /** undefined for a dry run. */
  readonly runId: string | undefined;
  readonly exitCode: ExitCode;
  readonly streams: readonly RebuiltStream[];
  readonly warnings: readonly string[];
  readonly published: RunReport['published'];
  /** What kept the rebuild from finishing, other than failures of streams. */
  readonly error: ReportedError | undefined;
}

export interface RebuiltStream {
  readonly stream: string;
  /** `planned` in a dry run; `empty` for a stream that never synced; `not-run` after a stop. */
  readonly status: 'rebuilt' | 'planned' | 'empty' | 'failed' | 'not-run';
  /** Archived scans, and the ISO times of the first and the last of them. */
  readonly scans: number;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly records: number;
  readonly rowsBefore: number | undefined;
  readonly rowsAfter: number | undefined;
  /** Rows that the archive does not hold, kept unchanged. */
  readonly rowsKept: number;
  readonly rowsQuarantined: number;
  readonly schemaChanges: readonly SchemaChange[];
  readonly notes: readonly string[];
  readonly error: ReportedError | undefined;
}

/** Result of `verify`: one line per item, a fix for each failure. */
export interface VerifyReport {
  readonly ok: boolean;
  /** 75 if a run holds the state and not everything could be checked. */
  readonly exitCode: ExitCode;
  readonly items: readonly CheckItem[];
  /** What the API holds compared with what is published; undefined unless it was asked for. */
  readonly comparison: ComparisonReport | undefined;
}

/** What `verify --against-api` found. */
export interface ComparisonReport {
  readonly streams: readonly ComparedStream[];
  readonly requestsSpent: number;
  readonly quota: QuotaSnapshot | undefined;
}

export interface ComparedStream {
  readonly stream: string;
  readonly slice: string;
  /** `exact`: every row was requested and the scan is verified; `sampled`: pages spread over it. */
  readonly extent: 'exact' | 'sampled' | 'none';
  /** What the API declares, and how many of its rows were compared. */
  readonly rowsDeclared: number | undefined;
  readonly rowsCompared: number;
  readonly rowsInTable: number | undefined;
  /** Rows of the API that are missing from the table. */
  readonly missing: number;
  /** Rows of the table that are missing from the API; undefined for a sample, which cannot show it. */
  readonly extra: number | undefined;
  /** Rows with the same key but other values; without a key they count as missing and extra. */
  readonly differing: number;
  /** Whether that is more than `deletes: keep` explains. */
  readonly differs: boolean;
  readonly examples: readonly ComparedRow[];
  readonly notes: readonly string[];
  readonly error: ReportedError | undefined;
}

export interface ComparedRow {
  readonly what: 'missing' | 'extra' | 'differing';
  /** The key's columns, or all of them, as JSON text. */
  readonly row: string;
  /** Of a differing row: its columns that differ, with what the API and the table have, as JSON text. */
  readonly values: string | undefined;
}

/** What `export` wrote. */
export interface TableExport {
  /** Where: a folder, or `s3://bucket/prefix`. */
  readonly place: string;
  readonly tables: readonly TableCopy[];
}

export interface TableCopy {
  readonly table: string;
  /** Its folder, or its prefix in the bucket. */
  readonly path: string;
  readonly rows: number;
}

/** What maintenance did to the destinations of a config. */
export interface MaintainReport {
  readonly destinations: readonly MaintainedDestination[];
}

export interface MaintainedDestination {
  /** As people see it: an address or a path. */
  readonly destination: string;
  /** As people call its kind: `DuckLake`. */
  readonly title: string;
  readonly outcome: 'maintained' | 'nothing is published' | 'left to another engine' | 'not needed';
  /** Bytes of its data files; undefined where that is not known. */
  readonly bytesBefore?: number | undefined;
  readonly bytesAfter?: number | undefined;
}
