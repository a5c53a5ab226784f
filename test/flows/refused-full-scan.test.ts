import { describe, expect, it } from 'vitest';
import {
  createItemsFlow,
  type Flow,
  HOUR_MS,
  makeItem,
  makeItems,
  noBuiltIns,
  streamOf,
} from '../support/sync-harness.ts';

const dated = {
  cursor: { field: 'date', param: 'startDate', lookback: '3d' },
  key: ['id'],
  deletes: 'hard',
  maxDeleteRatio: 0.1,
} as const;

const items = makeItems(1_500);
// Keys of another type: an incremental scan cannot merge them.
const retyped = items.map((item) => ({ ...item, id: `item-${item.id}` }));

/** The same stream with another limit of deletes. */
const limitTo = (maxDeleteRatio: number) => ({
  config: {
    streams: { ...noBuiltIns, items: { path: 'items', paginated: true, ...dated, maxDeleteRatio } },
  },
});

/** A table whose next scan was meant to be incremental, became a full one, and was refused for what it would delete. */
async function refuse(): Promise<Flow> {
  const flow = createItemsFlow(items, { endpoint: { dateField: 'date' }, stream: dated });
  await flow.sync();
  flow.simulator.editRecords('items', () => retyped);
  await flow.clock.sleep(2 * HOUR_MS);
  const refused = await flow.sync();
  expect(streamOf(refused)).toMatchObject({
    mode: 'full',
    status: 'failed',
    error: { code: 'deletes_refused', hint: expect.stringContaining('the pages are kept') as string },
  });
  await flow.clock.sleep(HOUR_MS);
  return flow;
}

describe('a full scan in place of an incremental one, refused for its deletes', () => {
  it('is loaded from its pages once its user allows the deletes', async () => {
    const flow = await refuse();
    const report = await flow.sync(limitTo(1));
    expect(streamOf(report)).toMatchObject({
      mode: 'full',
      verdict: 'verified',
      rowsInTable: retyped.length,
    });
    expect(flow.arrivals.length).toBeLessThan(4);
  });

  it('is refused again without reading it again', async () => {
    const flow = await refuse();
    const report = await flow.sync();
    expect(streamOf(report)).toMatchObject({ status: 'failed', error: { code: 'deletes_refused' } });
    expect(flow.arrivals.length).toBeLessThan(4);
  });

  it('gives way to the incremental one once the rows are back', async () => {
    const flow = await refuse();
    flow.simulator.editRecords('items', () => [...items, makeItem(1_500)]);
    const report = await flow.sync();
    expect(streamOf(report)).toMatchObject({ status: 'complete', verdict: 'verified', rowsInTable: 1_501 });
  });
});
