import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sync } from '../../src/index.ts';
import { rateLimited } from '../../src/simulator/fault-effects.ts';
import { when } from '../../src/simulator/faults.ts';
import { startSimulatorServer } from '../../src/simulator/server.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { startNode, waitForEnd } from '../support/run-node.ts';
import {
  buildConfig,
  HOUR_MS,
  makeFolder,
  makeItems,
  noBuiltIns,
  unlimited,
} from '../support/sync-harness.ts';
import type { ChildPlan } from './sync-child.ts';

describe('a process that is killed while it waits as a 429 asked', () => {
  it('leaves its promise behind: nobody with this key asks before that time', async () => {
    const simulator = createSimulator({
      builtIns: false,
      rateLimit: unlimited,
      endpoints: { items: { paginated: true, records: () => makeItems(300) } },
      faults: [when({ nth: 2, count: Infinity }, rateLimited({ retryAfter: '3600' }))],
    });
    const server = await startSimulatorServer(simulator);
    try {
      const ledgerDir = makeFolder();
      const project = () => {
        const folder = makeFolder();
        return buildConfig(
          { duckdbPath: join(folder, 'warehouse.duckdb'), stateDir: join(folder, 'state'), ledgerDir },
          {
            source: { baseUrl: server.baseUrl },
            quota: { burstPerSecond: 1 },
            streams: { ...noBuiltIns, items: { path: 'items', paginated: true } },
          },
        );
      };
      const config = project();
      const eventLog = join(makeFolder(), 'events.ndjson');
      const plan: ChildPlan = { config, eventLog, kill: { at: 'event', type: 'waiting', nth: 1 } };
      const file = join(import.meta.dirname, 'sync-child.ts');
      const end = await waitForEnd(startNode(file, [JSON.stringify(plan)]));
      expect(end.signal).toBe('SIGKILL');
      const waiting = readFileSync(eventLog, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { readonly type: string; readonly untilMs?: number })
        .find(({ type }) => type === 'waiting');
      expect(simulator.arrivals.requests).toBe(2);

      for (const next of [config, project()]) {
        const report = await sync(next, { maxWaitMs: 0 });
        expect(report).toMatchObject({ exitCode: 75, requests: 0 });
        expect(Date.parse(report.resumeAt ?? '')).toBeGreaterThanOrEqual(
          (waiting?.untilMs ?? Infinity) - 1_000,
        );
      }
      expect(simulator.arrivals.requests).toBe(2);
      const saidAtMs = simulator.log[1]?.atMs ?? 0;
      expect(waiting?.untilMs).toBeGreaterThanOrEqual(saidAtMs + HOUR_MS - 1_000);
    } finally {
      await server.close();
    }
  });
});
