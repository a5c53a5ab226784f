import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startSimulatorServer } from '../../src/simulator/server.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { startNode, waitForEnd } from '../support/run-node.ts';
import {
  buildConfig,
  countScanRequests,
  makeFolder,
  makeItems,
  noBuiltIns,
} from '../support/sync-harness.ts';
import type { ChildPlan } from '../crash/sync-child.ts';

it('two processes with one key and one ledger keep both documented limits together', async () => {
  const simulator = createSimulator({
    builtIns: false,
    endpoints: { items: { paginated: true, records: () => makeItems(1_000) } },
  });
  const server = await startSimulatorServer(simulator);
  try {
    const ledgerDir = makeFolder();
    const file = join(import.meta.dirname, '../crash/sync-child.ts');
    const ends = await Promise.all(
      [makeFolder(), makeFolder()].map((folder) => {
        const config = buildConfig(
          { duckdbPath: join(folder, 'warehouse.duckdb'), stateDir: join(folder, 'state'), ledgerDir },
          {
            source: { baseUrl: server.baseUrl },
            quota: { burstPerSecond: 10 },
            streams: { ...noBuiltIns, items: { path: 'items', paginated: true } },
          },
        );
        const plan: ChildPlan = { config };
        return waitForEnd(startNode(file, [JSON.stringify(plan)]));
      }),
    );
    expect(ends).toMatchObject([
      { exitCode: 0, stderr: '' },
      { exitCode: 0, stderr: '' },
    ]);
    expect(simulator.arrivals.requests).toBe(2 * countScanRequests(1_000));
    expect(simulator.arrivals.rateLimited).toBe(0);
    expect(simulator.arrivals.maxArrivalsInAnySecond()).toBeLessThanOrEqual(10);
  } finally {
    await server.close();
  }
});
