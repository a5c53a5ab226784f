import type { QuotaSnapshot } from './quota.ts';
import type { ReportedError, RunReport, Verdict } from './run-report.ts';

/** What the next sync would do, as `plan` and `sync --dry-run` tell it. */
export interface PlanReport {
  readonly offline: boolean;
  readonly streams: readonly PlannedStream[];
  readonly totals: {
    /** undefined when any stream's size is unknown. */
    readonly rows: number | undefined;
    readonly pages: number | undefined;
    readonly requests: number | undefined;
  };
  /** Requests spent on making this plan. */
  readonly requestsSpent: number;
  readonly quota: QuotaSnapshot & { readonly requestsPerHour: number };
  /** Hourly windows the sync would touch, and its least possible duration. */
  readonly windows: number | undefined;
  readonly etaMs: number | undefined;
}

export interface PlannedStream {
  readonly stream: string;
  /** Empty for a stream that is read as a whole. */
  readonly slice: string;
  readonly action: 'full' | 'incremental' | 'skip-fresh' | 'resume' | 'unavailable' | 'failed';
  /** Start date an incremental scan would ask for. */
  readonly from: string | undefined;
  readonly rows: number | undefined;
  readonly pages: number | undefined;
  readonly requests: number | undefined;
  readonly note: string | undefined;
  readonly error: ReportedError | undefined;
}

/** Result of `check`: one line an item, a fix for each failure. */
export interface CheckReport {
  readonly ok: boolean;
  readonly exitCode: number;
  readonly items: readonly CheckItem[];
  readonly requestsSpent: number;
  readonly quota: QuotaSnapshot | undefined;
}

export interface CheckItem {
  readonly name: string;
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly detail: string;
  readonly fix: string | undefined;
}

/** Result of `status`, read from the published file and the small run file only. */
export interface StatusReport {
  readonly duckdbPath: string;
  readonly published: { readonly bytes: number; readonly modifiedAt: string } | undefined;
  readonly streams: readonly StreamStatusRow[];
  readonly quota: QuotaSnapshot | undefined;
  readonly lastRun: RunReport | undefined;
}

export interface StreamStatusRow {
  readonly stream: string;
  /** Empty for a stream that is read as a whole. */
  readonly slice: string;
  readonly verdict: Verdict | undefined;
  readonly rows: number | undefined;
  readonly watermark: string | undefined;
  /** ISO time of the start of the last verified scan. */
  readonly verifiedAt: string | undefined;
  readonly fresh: boolean;
  readonly keyColumns: readonly string[] | undefined;
  readonly keyState: 'config' | 'provisional' | 'proved' | undefined;
}

/** One row of `runs`. */
export interface RunSummary {
  readonly runId: string;
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
