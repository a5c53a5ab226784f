import { Counter, Gauge, type Registry } from 'prom-client';
import type { ExitCode } from '../model/errors.ts';
import type { QuotaSnapshot } from '../model/quota.ts';
import type { RunStatus } from '../model/run-report.ts';
import type { LastRun, MetricFacts } from './metric-facts.ts';
import type { RunInProgress } from './run-in-progress.ts';

// All of them from the start, so that the first failure is an increase and no new series.
const exitCodes: readonly ExitCode[] = [0, 1, 2, 3, 4, 5, 6, 75, 130, 143];
const runStatuses: readonly RunStatus[] = ['complete', 'partial', 'failed', 'stopped', 'interrupted'];

/** Metrics of runs, requests, quota and key. */
export function addRunMetrics(registry: Registry, facts: MetricFacts, run?: RunInProgress): void {
  const { lastRun, totals, status, keyExpiresAt } = facts;
  if (lastRun !== undefined) addLastRun(registry, lastRun);
  if (totals !== undefined) addTotals(registry, totals);
  const quota = run?.quota ?? status?.quota;
  if (quota !== undefined) addQuota(registry, quota);
  if (keyExpiresAt !== undefined)
    addGauge(
      registry,
      'sluice_key_expiry_timestamp_seconds',
      'When the key expires, as source.keyExpiresAt says.',
      Date.parse(keyExpiresAt) / 1_000,
    );
}

/** Metrics of a run that goes on; they are gone when it has ended. */
export function addRunInProgress(registry: Registry, { startedAtMs, waitingUntilMs }: RunInProgress): void {
  addGauge(
    registry,
    'sluice_run_start_timestamp_seconds',
    'When the current run began.',
    startedAtMs / 1_000,
  );
  if (waitingUntilMs !== undefined)
    addGauge(
      registry,
      'sluice_waiting_until_timestamp_seconds',
      'When the current run stops waiting, for the quota or before a retry.',
      waitingUntilMs / 1_000,
    );
}

function addLastRun(registry: Registry, { exitCode, status, startedAtMs, endedAtMs }: LastRun): void {
  addGauge(registry, 'sluice_last_run_exit_code', 'Exit code of the last run.', exitCode);
  addGauge(
    registry,
    'sluice_last_run_start_timestamp_seconds',
    'When the last run began.',
    startedAtMs / 1_000,
  );
  addGauge(registry, 'sluice_last_run_end_timestamp_seconds', 'When the last run ended.', endedAtMs / 1_000);
  const seconds = Math.max(0, endedAtMs - startedAtMs) / 1_000;
  addGauge(
    registry,
    'sluice_last_run_duration_seconds',
    'How long the last run took, waits included.',
    seconds,
  );
  const gauge = new Gauge({
    name: 'sluice_last_run_status',
    help: '1 for the outcome of the last run, 0 for the others.',
    labelNames: ['status'],
    registers: [registry],
  });
  for (const name of runStatuses) gauge.set({ status: name }, name === status ? 1 : 0);
}

function addTotals(registry: Registry, totals: NonNullable<MetricFacts['totals']>): void {
  const runs = new Counter({
    name: 'sluice_runs_total',
    help: 'Runs that ended, by exit code.',
    labelNames: ['exit_code'],
    registers: [registry],
  });
  for (const code of exitCodes) runs.inc({ exit_code: String(code) }, totals.runs[String(code)] ?? 0);
  addCounter(registry, 'sluice_requests_total', 'Requests sent, retries included.', totals.requests);
  addCounter(registry, 'sluice_retries_total', 'Requests sent again after a fault.', totals.retries);
  addCounter(
    registry,
    'sluice_rate_limited_total',
    'Answers that refused a request (429).',
    totals.rateLimited,
  );
  addCounter(
    registry,
    'sluice_waited_seconds_total',
    'Time runs waited for the quota, for other runs, for 429s and before retries.',
    totals.waitedMs / 1_000,
  );
  if (totals.lastSuccessAt !== undefined)
    addGauge(
      registry,
      'sluice_last_success_timestamp_seconds',
      'When the last run with exit code 0 ended.',
      Date.parse(totals.lastSuccessAt) / 1_000,
    );
}

function addQuota(
  registry: Registry,
  { limit, remaining, resetAtMs }: Pick<QuotaSnapshot, 'limit' | 'remaining' | 'resetAtMs'>,
): void {
  if (limit !== undefined)
    addGauge(
      registry,
      'sluice_quota_limit_requests',
      'Requests the key has in a window: one hour, unless the connector says otherwise.',
      limit,
    );
  if (remaining !== undefined)
    addGauge(
      registry,
      'sluice_quota_remaining_requests',
      'Requests left when the last answer arrived.',
      remaining,
    );
  if (resetAtMs !== undefined)
    addGauge(
      registry,
      'sluice_quota_reset_timestamp_seconds',
      'When the window of that answer ends; then the full quota is available again.',
      Math.ceil(resetAtMs / 1_000),
    );
}

function addGauge(registry: Registry, name: string, help: string, value: number): void {
  new Gauge({ name, help, registers: [registry] }).set(value);
}

function addCounter(registry: Registry, name: string, help: string, value: number): void {
  new Counter({ name, help, registers: [registry] }).inc(value);
}
