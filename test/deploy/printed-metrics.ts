import { addRun, noTotals } from '../../state/run-totals.ts';
import { type MetricFacts, type ScheduleFacts } from '../../src/metrics/metric-facts.ts';
import { renderFleetMetrics } from '../../src/metrics/render-fleet-metrics.ts';
import { renderAccountMetrics, renderMetrics } from '../../src/metrics/render-metrics.ts';
import { beginRun } from '../../src/metrics/run-in-progress.ts';
import { makeRunReport, makeStreamReport, NOW_MS } from '../cli/support/reports.ts';
import { type Family, parseMetrics } from '../metrics/parse-metrics.ts';
import { makeFleetAccount, makeFleetStatus, makeFleetWorker } from '../support/fleet-status.ts';

const at = (hoursAgo: number) => new Date(NOW_MS - hoursAgo * 3_600_000).toISOString();

const none = { kept: 0, suspected: 0, unloaded: 0, quarantined: 0 };

/** All that can be known of one account, so that every metric has a series. */
const facts: MetricFacts = {
  status: {
    duckdbPath: '/data/warehouse.duckdb',
    published: undefined,
    streams: [
      {
        stream: 'prompts_analytics',
        slice: '',
        verdict: 'verified',
        unsettled: undefined,
        quarantined: 0,
        rows: 1_800,
        watermark: at(24).slice(0, 10),
        newest: { date: at(24).slice(0, 10), since: at(10), usualMs: 1_000, stale: true },
        verifiedAt: at(2),
        fresh: true,
        counts: { at: at(2), inApi: 1_801, inTable: 1_800, ...none, difference: 1 },
        fullRefreshDue: 'a count differs',
        keyColumns: undefined,
        keyState: undefined,
      },
    ],
    quota: { limit: 600, remaining: 558, resetAtMs: NOW_MS + 720_000, notBeforeMs: undefined },
    lastRun: undefined,
    refused: undefined,
    quarantined: 0,
  },
  totals: addRun(noTotals, 0, makeRunReport({ streams: [makeStreamReport({})] })),
  lastRun: { exitCode: 0, status: 'complete', startedAtMs: NOW_MS - 65_000, endedAtMs: NOW_MS },
  keyExpiresAt: '2027-06-30',
};
const schedule: ScheduleFacts = {
  run: { ...beginRun(NOW_MS), waitingUntilMs: NOW_MS + 1_000 },
  nextRunAtMs: NOW_MS + 60_000,
  skippedTicks: 2,
  outageSinceMs: NOW_MS - 90_000,
};

/** What a worker prints of a fleet with an account and a worker. */
export function printFleet(): Promise<string> {
  const lastDay = { ...makeFleetStatus([]).lastDay, byExitCode: { '0': 3, lost: 1 } };
  const fleet = makeFleetStatus([makeFleetAccount('acme')], { workers: [makeFleetWorker('one')], lastDay });
  return renderFleetMetrics(fleet, { withoutAccounts: false });
}

/** What `/metrics` prints when everything is known: of one account, of two, and of a fleet. */
export async function printMetrics(): Promise<
  Readonly<Record<'one' | 'accounts' | 'fleet', readonly Family[]>>
> {
  const accounts = new Map([
    ['acme', facts],
    ['globex', facts],
  ]);
  return {
    one: parseMetrics(await renderMetrics(facts, schedule)),
    accounts: parseMetrics(await renderAccountMetrics(accounts, { schedule })),
    fleet: parseMetrics(await printFleet()),
  };
}
