import { describe, expect, it } from 'vitest';
import { insertRows } from '../../src/simulator/fault-effects.ts';
import { when } from '../../src/simulator/faults.ts';
import { expectRows } from '../support/published.ts';
import {
  countScanRequests,
  createItemsFlow,
  eventsOf,
  type Flow,
  HOUR_MS,
  makeItem,
  makeItems,
  offsetsOf,
  streamOf,
} from '../support/sync-harness.ts';

const ROWS = 1_800;
const PAGE = 30;
const CLEAN = countScanRequests(ROWS, PAGE);
const items = makeItems(ROWS);

function createSlowFlow(records: readonly unknown[] = items): Flow {
  return createItemsFlow(records, {
    config: { quota: { burstPerSecond: 1 } },
    stream: { pageSize: PAGE, cursor: false },
  });
}

/** Ends a run with its third request: its look at the head, a page, and one whose answer may be lost. */
async function stopAfterOnePage(flow: Flow): Promise<number> {
  const stop = new AbortController();
  const abort = () => {
    stop.abort();
    return undefined;
  };
  flow.simulator.setFaults([when({ nth: 3 }, abort)]);
  const report = await flow.sync({ signal: stop.signal });
  flow.simulator.setFaults([]);
  expect(report.exitCode).toBe(130);
  return flow.arrivals.length;
}

describe('runs that all end after one page', () => {
  it('come to the end nevertheless: each resumes where the last one stopped', async () => {
    const flow = createSlowFlow();
    let requests = 0;
    for (let run = 0; run < 20; run += 1) requests += await stopAfterOnePage(flow);
    const report = await flow.sync();
    expect(streamOf(report)).toMatchObject({ status: 'complete', verdict: 'verified', rescans: 0 });
    expect(eventsOf(flow, 'stream-resumed')[0]?.pagesHeld).toBeGreaterThanOrEqual(20);
    // A run pays for its look at the head, and for the page that was on its way.
    expect(requests + flow.arrivals.length).toBeLessThanOrEqual(CLEAN + 20 * 2);
    expect(await flow.rows('items')).toEqual(expectRows(items));
  });
});

describe('pages of an earlier run', () => {
  it.each<readonly [string, (flow: Flow) => void, string]>([
    [
      'a row came at the head',
      (flow) => flow.simulator.editRecords('items', insertRows(0, [makeItem(5_000)])),
      'the data changed since its pages were staged',
    ],
    [
      'a row came at the end',
      (flow) => flow.simulator.editRecords('items', (records) => [...records, makeItem(5_000)]),
      'the data changed since its pages were staged',
    ],
    [
      'two rows changed places where the next page begins',
      (flow) =>
        flow.simulator.editRecords('items', (records) =>
          records.with(174, records[175]).with(175, records[174]),
        ),
      'the record at position 174 differs between two pages',
    ],
  ])('are given up when %s since', async (_, change, reason) => {
    const flow = createSlowFlow();
    expect((await flow.sync({ maxRequests: 6 })).exitCode).toBe(75);
    change(flow);
    const report = await flow.sync();
    expect(report.exitCode).toBe(0);
    expect(eventsOf(flow, 'stream-restarted').map((event) => event.reason)).toEqual([reason]);
    expect(streamOf(report).verdict).toBe('verified');
    const { flow: clean } = await flow.clean();
    expect(await flow.rows('items')).toEqual(await clean.rows('items'));
  });

  it('are of no use after a day, and say nothing then', async () => {
    const flow = createSlowFlow();
    await flow.sync({ maxRequests: 6 });
    await flow.clock.sleep(25 * HOUR_MS);
    expect(streamOf(await flow.sync()).verdict).toBe('verified');
    expect(eventsOf(flow, 'stream-resumed')).toEqual([]);
    expect(offsetsOf(flow.arrivals).slice(0, 3)).toEqual([0, 29, 58]);
  });
});
