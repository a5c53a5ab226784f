import type { ExitCode } from './errors.ts';
import type { RunReport, ReportedError } from './run-report.ts';

/** How one account ended within a sync of several. */
export interface AccountEnd {
  readonly account: string;
  readonly exitCode: ExitCode;
  /** Of all its runs together; undefined if none could begin. */
  readonly report: RunReport | undefined;
  /** What failed first. */
  readonly error: ReportedError | undefined;
  /** Runs that were begun: more than one if it waited for its quota and was continued. */
  readonly runs: number;
  /** ISO time at which running again makes progress, where that is known; for what may go on at once, when it ended. */
  readonly resumeAt: string | undefined;
}

/** What happened in a sync of several accounts. */
export interface AccountsReport {
  readonly exitCode: ExitCode;
  readonly startedAt: string;
  readonly finishedAt: string;
  /** In the order of the config. */
  readonly accounts: readonly AccountEnd[];
  /** The earliest time at which one of those that are not done can go on; undefined if none waits. */
  readonly resumeAt: string | undefined;
  /** What joins the data of all accounts, as far as the config asks for it. */
  readonly files: readonly JointFile[];
  /** What kept one of these files from being written; the accounts themselves have errors of their own. */
  readonly error: ReportedError | undefined;
  /** About what belongs to all accounts together. */
  readonly warnings: readonly string[];
}

/** A file with the data of all accounts. */
export interface JointFile {
  readonly path: string;
  /** False where it had all of this already. */
  readonly isReplaced: boolean;
  /** Size of the file; 0 if there is none, as nothing is published yet. */
  readonly bytes: number;
  /** Accounts that have published nothing yet, so that no row is theirs. */
  readonly leftOut: readonly string[];
}

/** What a sync of several accounts reports while it works. */
export type AccountEvent =
  /** `run` counts from 1. */
  | { readonly type: 'account-started'; readonly account: string; readonly run: number }
  /** Its quota is spent: others take its place until then. */
  | { readonly type: 'account-waiting'; readonly account: string; readonly untilMs: number }
  | { readonly type: 'account-ended'; readonly end: AccountEnd };
