import type { ReportedError, RunReport } from '../model/run-report.ts';

/** How a run ended, of a config without accounts or of one account. */
export interface SyncedAccount {
  /** Undefined without accounts. */
  readonly account: string | undefined;
  /** Undefined if it could not start. */
  readonly report: RunReport | undefined;
  /** What failed first. */
  readonly error: ReportedError | undefined;
}

/** How everything that Dagster ran ended. */
export interface EndedProcess {
  readonly exitCode: number;
  /** ISO time at which running again makes progress, where that is known. */
  readonly resumeAt: string | undefined;
  readonly accounts: readonly SyncedAccount[];
  /** What failed, apart from the accounts' own errors. */
  readonly error: ReportedError | undefined;
  readonly warnings: readonly string[];
}
