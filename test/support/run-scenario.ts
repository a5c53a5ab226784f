import type { RunReport, StreamReport } from '../../src/model/run-report.ts';
import type { Scenario } from '../../src/simulator/scenario.ts';
import { createFlow, DAY_MS, type Flow, streamOf } from './sync-harness.ts';

export interface Rehearsal {
  readonly flow: Flow;
  /** Of the last sync. */
  readonly report: RunReport;
  readonly stream: StreamReport;
  readonly requests: number;
}

/** Runs a scenario's steps as a user would, one request at a time so that requests can be counted. */
export async function runScenario(scenario: Scenario): Promise<Rehearsal> {
  const flow = createFlow({
    simulator: scenario.options(),
    config: { quota: { burstPerSecond: 1 } },
  });
  let report: RunReport | undefined;
  for (const step of scenario.steps) {
    if (step === 'advance-day') {
      flow.simulator.advanceDay();
      await flow.clock.sleep(DAY_MS);
      continue;
    }
    report = await flow.sync({
      streams: [scenario.stream],
      force: step === 'sync --force',
      fullRefresh: step === 'sync --full-refresh',
    });
  }
  if (report === undefined) throw new Error(`the scenario ${scenario.name} has no sync among its steps`);
  return { flow, report, stream: streamOf(report, scenario.stream), requests: flow.arrivals.length };
}
