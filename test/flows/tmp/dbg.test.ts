import { it } from 'vitest';
import { createItemsFlow, makeItems, createFlow,noBuiltIns, makeFolder } from '../../support/sync-harness.ts';
it('x', async () => {
    const ledgerDir = makeFolder();
    const flow = createItemsFlow(makeItems(2000), {ledgerDir, simulator: {rateLimit: {requestsPerHour: 6, burstPerSecond: 10}}, config: {quota:{burstPerSecond:10}}});
    const stop = new AbortController();
    const stopped = await flow.sync({
      signal: stop.signal,
      onProgress: (event) => {
        if (event.type === 'waiting') console.log(event.reason, event.untilMs - flow.clock.now());
        if (event.type === 'waiting' && event.reason === 'hourly-quota') stop.abort();
      },
    });
    console.log(stopped.exitCode, stopped.requests, flow.clock.monotonic(), JSON.stringify(stopped.quota));
    const other = createFlow({
      clock: flow.clock,
      simulator: flow.simulator,
      ledgerDir,
      config: { streams: { ...noBuiltIns, items: { path: 'items', paginated: true } } },
    });
    const r = await other.sync({ maxWaitMs: 0 });
    console.log(r.exitCode, r.requests, flow.clock.monotonic(), JSON.stringify(other.arrivals), JSON.stringify(r.quota));
});
