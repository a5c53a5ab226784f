import type { RunTotals } from '../../state/run-totals.ts';
import type { ExitCode } from '../model/errors.ts';
import type { StatusReport } from '../model/reports.ts';
import type { RunStatus } from '../model/run-report.ts';
import type { RunInProgress } from './run-in-progress.ts';

/** The type that metrics are served as. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** The last run, as far as it got. */
export interface LastRun {
  readonly exitCode: ExitCode;
  readonly status: RunStatus;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
}

/** What is known of the data and its runs; it changes when a run ends. */
export interface MetricFacts {
  /** undefined where config or published file could not be read. */
  readonly status: StatusReport | undefined;
  readonly totals: RunTotals | undefined;
  readonly lastRun: LastRun | undefined;
  readonly keyExpiresAt: string | undefined;
}

export const noFacts: MetricFacts = {
  status: undefined,
  totals: undefined,
  lastRun: undefined,
  keyExpiresAt: undefined,
};

/** What a schedule adds; undefined for a single run. */
export interface ScheduleFacts {
  /** undefined between runs. */
  readonly run: RunInProgress | undefined;
  readonly nextRunAtMs: number | undefined;
  /** Times of the schedule that passed without a run of their own, since it was started. */
  readonly skippedTicks: number;
  /** When the first of the runs began that network or server ended, without one since that they let through. */
  readonly outageSinceMs: number | undefined;
}
