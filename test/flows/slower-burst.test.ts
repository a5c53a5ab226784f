import { describe, expect, it } from 'vitest';
import { createItemsFlow, makeItem } from '../support/sync-harness.ts';

describe('a server that takes less in a second than it documents', () => {
  it.each([1, 2, 5])(
    '(%i) is given less after its first 429s, and the sync finishes',
    async (burstPerSecond) => {
      const rows = 1_500;
      const flow = createItemsFlow(() => ({ length: rows, at: (id: number) => makeItem(id) }), {
        simulator: { rateLimit: { requestsPerHour: 600, burstPerSecond } },
        config: { quota: { burstPerSecond: 10 } },
        latency: () => ({ thereMs: 30, backMs: 30 }),
      });
      const report = await flow.sync();
      expect(report).toMatchObject({ exitCode: 0, streams: [{ verdict: 'verified', rowsInTable: rows }] });
      expect(flow.simulator.arrivals.rateLimited).toBeGreaterThan(0);
      expect(flow.simulator.arrivals.rateLimited).toBeLessThanOrEqual(16);
    },
  );
});
