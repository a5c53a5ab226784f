import { describe, expect, it } from 'vitest';
import { createItemsFlow, DAY_MS, eventsOf, HOUR_MS, makeItems, streamOf } from '../support/sync-harness.ts';

const items = makeItems(250);
const offsetsOf = (flow: ReturnType<typeof createItemsFlow>) =>
  flow.arrivals.map(({ query }) => Number(new URLSearchParams(query).get('offset') ?? 0));

describe('runs with one request each', () => {
  it('take a page each, and the last one the look at the head', async () => {
    const flow = createItemsFlow(items, { stream: { key: ['id'], cursor: false } });
    const asked: number[] = [];
    const codes: number[] = [];
    for (let runs = 0; runs < 8 && codes.at(-1) !== 0; runs += 1) {
      const report = await flow.sync({ maxRequests: 1 });
      codes.push(report.exitCode);
      asked.push(...offsetsOf(flow));
      expect(report.requests).toBe(1);
      await flow.clock.sleep(HOUR_MS);
    }
    expect(codes).toEqual([75, 75, 75, 0]);
    expect(asked).toEqual([0, 99, 198, 0]);
    expect(await flow.rows('items')).toHaveLength(250);
    expect((await flow.sync({ force: true })).rows).toMatchObject({ unchanged: 250, inserted: 0 });
  });

  it('restart when the data moved in between, and end once it rests', async () => {
    const flow = createItemsFlow(items, { stream: { key: ['id'], cursor: false } });
    await flow.sync({ maxRequests: 1 });
    await flow.sync({ maxRequests: 1 });
    const moved = items.map((item) => ({ ...item, amount: item.amount + 1 }));
    flow.simulator.editRecords('items', () => moved);
    let last = await flow.sync({ maxRequests: 1 });
    for (let runs = 0; runs < 12 && last.exitCode === 75; runs += 1)
      last = await flow.sync({ maxRequests: 1 });
    expect(last.exitCode, streamOf(last).error?.message).toBe(0);
    expect(await flow.query('SELECT sum(amount) AS n FROM main.items')).toEqual([
      { n: moved.reduce((sum, { amount }) => sum + amount, 0) },
    ]);
  });

  it('of an hour of which others leave one get on as well', async () => {
    const flow = createItemsFlow(items, {
      stream: { key: ['id'], cursor: false },
      simulator: { rateLimit: { requestsPerHour: 1 } },
    });
    let last = await flow.sync({ maxWaitMs: 0 });
    for (let hours = 0; hours < 6 && last.exitCode === 75; hours += 1) {
      await flow.clock.sleep(HOUR_MS + 1_000);
      last = await flow.sync({ maxWaitMs: 0 });
    }
    expect(last.exitCode, streamOf(last).error?.message).toBe(0);
    expect(await flow.rows('items')).toHaveLength(250);
  });

  it('of a stream that had been synced before do the same', async () => {
    const flow = createItemsFlow(items, { stream: { key: ['id'], cursor: false } });
    await flow.sync();
    await flow.clock.sleep(DAY_MS);
    const seen: number[] = [];
    let exitCode = 75;
    for (let runs = 0; runs < 8 && exitCode === 75; runs += 1) {
      ({ exitCode } = await flow.sync({ maxRequests: 1, fullRefresh: true }));
      seen.push(...eventsOf(flow, 'stream-resumed').map(({ pagesHeld }) => pagesHeld));
    }
    expect(exitCode).toBe(0);
    expect(seen).toEqual([1, 2, 3]);
  });
});
