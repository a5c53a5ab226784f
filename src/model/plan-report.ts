import type { QuotaLimits, QuotaSnapshot } from './quota.ts';
import type { ReportedError } from './run-report.ts';

/** What the next sync would do, as `plan` and `sync --dry-run` show it. */
export interface PlanReport {
  readonly offline: boolean;
  readonly streams: readonly PlannedStream[];
  readonly totals: {
    /** undefined when any stream's size is unknown. */
    readonly rows: number | undefined;
    readonly pages: number | undefined;
    readonly requests: number | undefined;
  };
  /** What the next sync does before its first stream; its requests are part of the total. */
  readonly notes?: readonly string[] | undefined;
  /** Requests spent on this plan. */
  readonly requestsSpent: number;
  readonly quota: QuotaSnapshot & { readonly requestsPerHour: number; readonly windowSeconds: number };
  /** Windows of the quota that the sync would touch, and its least possible duration. */
  readonly windows: number | undefined;
  readonly etaMs: number | undefined;
  /**
   * What the sync would need on each file system it writes to; undefined while a stream's size is unknown.
   */
  readonly disk: readonly DiskNeed[] | undefined;
}

/** The quota that an account's requests are taken from. */
export interface PlannedQuota {
  /** Names the key at its address, and reveals nothing of it. */
  readonly key: string;
  readonly limits: QuotaLimits;
  /** What is left of it. */
  readonly quota: QuotaSnapshot;
  readonly nowMs: number;
}

/** What the next sync of one account takes. */
export interface PlannedAccount {
  readonly account: string;
  /** undefined if it is not known. */
  readonly requests: number | undefined;
  readonly from: PlannedQuota;
}

/** Accounts that share one key, and what their next syncs take of its quota together. */
export interface SharedQuotaPlan {
  readonly accounts: readonly string[];
  readonly requests: number;
  /** Whether the requests of each are known. */
  readonly isWhole: boolean;
  readonly windows: number;
  readonly windowSeconds: number;
  readonly etaMs: number;
}

/** Space on one file system: an estimate from what earlier syncs left there. */
export interface DiskNeed {
  /** A folder on it that the sync writes to. */
  readonly path: string;
  readonly neededBytes: number;
  readonly freeBytes: number;
  readonly fits: boolean;
}

export interface PlannedStream {
  readonly stream: string;
  /** Empty for a stream without slices. */
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
