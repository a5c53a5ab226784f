import { describe, expect, it } from 'vitest';
import { collectMetrics } from '../../src/metrics/collect-metrics.ts';
import { renderMetrics } from '../../src/metrics/render-metrics.ts';
import { hang } from '../../src/simulator/fault-effects.ts';
import { when } from '../../src/simulator/faults.ts';
import { findNotices } from '../../src/notify/find-notices.ts';
import type { RunReport } from '../../src/model/run-report.ts';
import { parseMetrics } from '../metrics/parse-metrics.ts';
import { createItemsFlow, DAY_MS, type Flow, HOUR_MS, makeItems } from '../support/sync-harness.ts';

function eventsOf(report: RunReport): readonly string[] {
  return findNotices({ report }, { keyExpiry: undefined, keyExpiresAt: undefined }).map(({ event }) => event);
}

/** Collects the metrics after a run, as the command line does. */
async function measure(flow: Flow, report: RunReport) {
  const run = {
    exitCode: report.exitCode,
    startedAtMs: Date.parse(report.startedAt),
    endedAtMs: flow.clock.now(),
    report,
  };
  const { facts, warnings } = await collectMetrics(flow.settings(), run, flow.clock.now());
  expect(warnings).toEqual([]);
  const families = parseMetrics(await renderMetrics(facts));
  return (name: string, label = '') =>
    families
      .find((family) => family.name === name)
      ?.samples.find(({ labels }) => label === '' || Object.values(labels).includes(label))?.value;
}

describe('what runs come to', () => {
  it('is reported and counted: a first load, news, a new column, and a source that does not answer', async () => {
    let records: readonly unknown[] = makeItems(150);
    const flow = createItemsFlow(() => records);

    const first = await flow.sync();
    expect(eventsOf(first)).toEqual(['success']);
    const loaded = await measure(flow, first);
    expect(loaded('sluice_stream_rows')).toBe(150);
    expect(loaded('sluice_rows_inserted_total')).toBe(150);
    expect(loaded('sluice_stream_verdict', 'verified')).toBe(1);
    const [startedAt = 0] = [first.streams[0]?.startedAt].map((time) => Date.parse(time ?? ''));
    expect(loaded('sluice_stream_verified_timestamp_seconds')).toBeGreaterThanOrEqual(startedAt / 1_000);
    expect(loaded('sluice_last_run_exit_code')).toBe(0);

    flow.clock.stepWall(DAY_MS);
    records = makeItems(160);
    flow.simulator.advanceDay();
    const second = await flow.sync();
    expect(eventsOf(second)).toEqual(['success']);
    const grown = await measure(flow, second);
    expect(grown('sluice_stream_rows')).toBe(160);
    expect(grown('sluice_rows_inserted_total')).toBe(160);
    expect(grown('sluice_runs_total', '0')).toBe(2);
    expect(grown('sluice_requests_total')).toBe(first.requests + second.requests);

    flow.clock.stepWall(DAY_MS);
    records = makeItems(160).map((item) => ({ ...item, score: 0.5 }));
    flow.simulator.advanceDay();
    expect(eventsOf(await flow.sync({ fullRefresh: true }))).toEqual(['schema-change', 'success']);

    flow.clock.stepWall(HOUR_MS);
    flow.simulator.setFaults([when({ count: Infinity }, hang())]);
    const failed = await flow.sync({ force: true });
    expect(failed.exitCode).toBe(75);
    expect(eventsOf(failed)).toEqual(['failure']);
    const stale = await measure(flow, failed);
    expect(stale('sluice_last_run_status', 'stopped')).toBe(1);
    expect(stale('sluice_stream_rows')).toBe(160);
    expect(stale('sluice_runs_total', '75')).toBe(1);
  });
});
