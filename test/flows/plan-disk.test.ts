import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { planOffline } from '../../src/commands/plan/plan.ts';
import { createItemsFlow, type Flow, makeItems } from '../support/sync-harness.ts';

const plan = (flow: Flow, options: { readonly fullRefresh?: boolean } = {}) =>
  planOffline(flow.settings(), { ...options, clock: flow.clock });

describe('the disk that a plan states', () => {
  it('is unknown while a size is', async () => {
    expect((await plan(createItemsFlow(makeItems(10)))).disk).toBeUndefined();
  });

  it('is what earlier syncs took, and is compared with what is free', async () => {
    const flow = createItemsFlow(makeItems(2_000));
    await flow.sync();
    const [need, ...others] = (await plan(flow, { fullRefresh: true })).disk ?? [];
    expect(others).toEqual([]);
    const published = statSync(flow.duckdbPath).size;
    expect(need).toMatchObject({ path: flow.stateDir, fits: true });
    expect(need?.neededBytes).toBeGreaterThan(published);
    // A stage of 2,000 records of some 70 bytes is far from this.
    expect(need?.neededBytes).toBeLessThan(3 * published + 20_000_000);
    expect(need?.freeBytes).toBeGreaterThan(0);
  });

  it('is nothing for a sync that has nothing to do', async () => {
    const flow = createItemsFlow(makeItems(20));
    await flow.sync();
    expect((await plan(flow)).disk).toMatchObject([{ neededBytes: 0, fits: true }]);
  });

  it('grows with the records', async () => {
    const flow = createItemsFlow(makeItems(100));
    await flow.sync();
    const small = (await plan(flow, { fullRefresh: true })).disk?.[0]?.neededBytes ?? 0;
    flow.simulator.editRecords('items', () => makeItems(40_000));
    await flow.sync({ fullRefresh: true });
    const large = (await plan(flow, { fullRefresh: true })).disk?.[0]?.neededBytes ?? 0;
    expect(large).toBeGreaterThan(small + 40_000 * 100);
  });

  it('does not keep a plan from being made', async () => {
    const flow = createItemsFlow(makeItems(20));
    await flow.sync();
    mkdirSync(join(flow.stateDir, 'archive', 'items', 'whole', 'x.json'));
    expect((await plan(flow, { fullRefresh: true })).streams).toHaveLength(1);
  });
});
