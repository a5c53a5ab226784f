import type { CheckReport } from '../../src/model/reports.ts';
import type { ReadDisk } from '../../src/commands/plan/estimate-disk.ts';
import { runChecks } from '../../src/commands/check.ts';
import { createSimulatorTransport } from './simulator-transport.ts';
import type { Flow } from './sync-harness.ts';

/** What `sluice check` says of a flow; `item` finds one of its lines. */
export async function runCheck(flow: Flow, item: string, readDisk?: ReadDisk) {
  const { clock, simulator } = flow;
  const transport = createSimulatorTransport(simulator, clock);
  const report: CheckReport = await runChecks(flow.settings(), { clock, transport, readDisk });
  return { report, found: report.items.find(({ name }) => name === item) };
}
