import { Gauge, Registry } from 'prom-client';
import type { FleetStatus } from '../model/fleet-report.ts';
import { hasFailed } from '../model/fleet-report.ts';

/** What the metrics of a fleet depend on in addition to its status. */
export interface FleetMetricsOptions {
  /** Leaves out what has a series for each account. */
  readonly withoutAccounts: boolean;
}

const STATES = ['running', 'lost', 'due', 'deferred', 'retrying', 'scheduled', 'idle', 'paused'] as const;
const WORKER_STATES = ['working', 'stopped', 'gone'] as const;

/** A fleet in the text format of Prometheus. */
export function renderFleetMetrics(
  status: FleetStatus,
  { withoutAccounts }: FleetMetricsOptions,
): Promise<string> {
  const registers = [new Registry()] as const;
  const gauge = (name: string, help: string) =>
    new Gauge({ name: `sluice_fleet_${name}`, help, registers: [...registers] });
  const gaugeBy = <Label extends string>(name: string, label: Label, help: string) =>
    new Gauge({ name: `sluice_fleet_${name}`, help, labelNames: [label], registers: [...registers] });
  const { accounts, workers, lastDay } = status;
  const nowMs = Date.parse(status.now);

  const byState = gaugeBy('accounts', 'state', 'Accounts by what they are doing.');
  for (const state of STATES) byState.set({ state }, accounts.filter((one) => one.state === state).length);
  gauge('accounts_failed', 'Accounts whose last run failed.').set(accounts.filter(hasFailed).length);
  gauge('oldest_due_seconds', 'How long the account has been due that waits longest for a lane.').set(
    Math.max(
      0,
      ...accounts
        .filter(({ state }) => state === 'due')
        .map(({ nextAt }) => (nowMs - Date.parse(nextAt ?? status.now)) / 1_000),
    ),
  );
  const runs = gaugeBy(
    'runs_last_day',
    'exit_code',
    'Runs that ended within 24 hours, by exit code, or lost.',
  );
  for (const [exit_code, count] of Object.entries({ '0': 0, ...lastDay.byExitCode }))
    runs.set({ exit_code }, count);
  gauge('requests_last_day', 'Requests of these runs.').set(lastDay.requests);
  gauge('rate_limited_last_day', 'Answers with 429 of these runs.').set(lastDay.rateLimited);
  gauge('rows_changed_last_day', 'Rows that these runs inserted, updated or deleted.').set(
    lastDay.rowsChanged,
  );

  const ofWorkers = gaugeBy('workers', 'state', 'Workers of the last day by state.');
  for (const state of WORKER_STATES)
    ofWorkers.set({ state }, workers.filter((one) => one.state === state).length);
  const working = workers.filter(({ state }) => state === 'working');
  gauge('lanes', 'Lanes of the workers that are working.').set(sum(working.map(({ lanes }) => lanes)));
  gauge('lanes_busy', 'Lanes that have an account.').set(sum(working.map(({ running }) => running)));

  if (!withoutAccounts) {
    const ages = gaugeBy(
      'account_clean_age_seconds',
      'account',
      'Seconds since the last run with exit code 0 ended.',
    );
    for (const { account, lastCleanAt } of accounts)
      if (lastCleanAt !== undefined) ages.set({ account }, (nowMs - Date.parse(lastCleanAt)) / 1_000);
  }
  return registers[0].metrics();
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
