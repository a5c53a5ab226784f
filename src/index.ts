export {
  sync,
  syncAccounts,
  plan,
  check,
  type AccountsOptions,
  type LibraryOptions,
  type PlanSyncOptions,
} from './library.ts';
export { defineConfig } from './config/load-config.ts';
export type { AccountEnd, AccountEvent, AccountsReport } from './model/accounts-report.ts';
export type { ConfigInput } from './model/config.ts';
export type { Clock } from './model/clock.ts';
export type { OnProgress, ProgressEvent } from './model/progress.ts';
export type { PlanReport } from './model/plan-report.ts';
export type { CheckReport } from './model/reports.ts';
export type { EndedRun, RunObserver } from './model/run-observer.ts';
export type { RunReport, StreamReport, Verdict } from './model/run-report.ts';
export { SyncError, type ErrorCode, type ExitCode } from './model/errors.ts';
