import { describe, expect, it } from 'vitest';
import { rewriteEnvelope } from '../../src/simulator/fault-effects.ts';
import { type Fault, when } from '../../src/simulator/faults.ts';
import { RawJson } from '../../src/simulator/raw-json.ts';
import { expectRows } from '../support/published.ts';
import {
  countScanRequests,
  createItemsFlow,
  eventsOf,
  type Flow,
  type ItemsOptions,
  makeItem,
  makeItems,
  offsetsOf,
  streamOf,
} from '../support/sync-harness.ts';

const ROWS = 150;
const PAGE = 30;
const CLEAN = countScanRequests(ROWS, PAGE);
const items = makeItems(ROWS);
const offsets = [0, 29, 58, 87, 116, 145];

/** One request at a time, so that requests can be counted. */
function createSlowFlow(faults: readonly Fault[], options: ItemsOptions = {}): Flow {
  return createItemsFlow(items, {
    ...options,
    config: { quota: { burstPerSecond: 1 } },
    simulator: { ...options.simulator, faults },
    stream: { pageSize: PAGE, cursor: false, ...options.stream },
  });
}

/** Answers with records of another state of the data, as many as were asked for. */
const answerFrom = (records: readonly unknown[]): Fault =>
  rewriteEnvelope(({ data, pagination }) => {
    const offset = pagination?.offset ?? 0;
    const part = records.slice(offset, offset + data.length);
    return { data: part.map((record) => new RawJson(JSON.stringify(record))), pagination };
  });

const shifted = [makeItem(900), ...items.slice(0, -1)];

describe('one answer from another state of the data', () => {
  it.each(offsets.slice(1))('at offset %i is asked for again, with the page before it', async (offset) => {
    const flow = createSlowFlow([when({ offset, count: 1 }, answerFrom(shifted))]);
    const report = await flow.sync();
    expect(streamOf(report)).toMatchObject({ verdict: 'verified', rescans: 0, status: 'complete' });
    expect(streamOf(report).reasons).toContainEqual(expect.stringMatching(/^2 pages were read again/));
    expect(flow.arrivals).toHaveLength(CLEAN + 2);
    expect(await flow.rows('items')).toEqual(expectRows(items));
  });

  it('that comes after the pages on both its sides is fixed as well', async () => {
    // The third page is on its way while the others arrive.
    const latency = (n: number) => ({ thereMs: 1, backMs: n === 2 ? 5_000 : 10 });
    const faults = [when({ offset: 58, count: 1 }, answerFrom(shifted))];
    const flow = createItemsFlow(items, { latency, simulator: { faults }, stream: { pageSize: PAGE } });
    const report = await flow.sync();
    expect(streamOf(report)).toMatchObject({ verdict: 'verified', rescans: 0 });
    expect(offsetsOf(flow.arrivals).slice(6)).toEqual([29, 58, 0]);
    expect(await flow.rows('items')).toEqual(expectRows(items));
  });

  it('is fixed at three places, and at a fourth the scan restarts', async () => {
    for (const places of [3, 4]) {
      const faults = offsets
        .slice(1, 1 + places)
        .map((offset) => when({ offset, count: 1 }, answerFrom(shifted)));
      const report = await createSlowFlow(faults).sync();
      expect(streamOf(report)).toMatchObject({ verdict: 'verified', rescans: places - 3 });
    }
  });

  it('that is the first of all to come cannot be distinguished from data that moved: the scan restarts', async () => {
    const flow = createSlowFlow([when({ offset: 0, count: 1 }, answerFrom(shifted))]);
    expect(streamOf(await flow.sync())).toMatchObject({ verdict: 'verified', rescans: 1 });
    expect(await flow.rows('items')).toEqual(expectRows(items));
  });

  it('with another total is a sign that the data moved, and not asked about', async () => {
    const grown: Fault = rewriteEnvelope(({ data, pagination }) => ({
      data,
      pagination: { ...pagination, total: ROWS + 1 },
    }));
    const flow = createSlowFlow([when({ offset: 58, count: 1 }, grown)]);
    expect(streamOf(await flow.sync())).toMatchObject({ verdict: 'verified', rescans: 1 });
    expect(flow.arrivals).toHaveLength(3 + CLEAN);
  });
});

describe('pages that never fit, though nothing moves', () => {
  it('are a contradiction: two requests show it, and the scan is not restarted', async () => {
    // The page at 58 begins one record too late, always.
    const late: Fault = () => ({ page: (page) => ({ ...page, offset: page.offset + 1 }) });
    const flow = createSlowFlow([when({ offset: 58 }, late)]);
    const report = await flow.sync();
    expect(report.exitCode).toBe(4);
    expect(streamOf(report).error).toMatchObject({ code: 'response_invalid' });
    expect(streamOf(report).error?.message).toMatch(
      /offsets 29 and 58 contradict each other; re-reading returned the same pages: they differ at position 58/,
    );
    expect(offsetsOf(flow.arrivals)).toEqual([0, 29, 58, 29, 58]);
    expect(eventsOf(flow, 'stream-restarted')).toEqual([]);
  });

  it('may be alike where their records are: a source of equal rows is read to its end', async () => {
    const equal = Array.from({ length: ROWS }, () => ({ word: 'same' }));
    const flow = createItemsFlow(equal, { stream: { pageSize: PAGE } });
    expect(streamOf(await flow.sync())).toMatchObject({ verdict: 'verified', rowsInTable: ROWS });
  });
});

describe('rows that come twice though every page fits', () => {
  /** Record 100 is where record 110 was, once only: the pages fit, and one row is missing. */
  const twice: Fault = rewriteEnvelope(({ data, pagination }) => ({
    data: data.map((record, at) =>
      (pagination?.offset ?? 0) + at === 110 ? new RawJson(JSON.stringify(items[100])) : record,
    ),
    pagination,
  }));

  it.each([
    ['with a learned key', {}, 1],
    ['with a configured key', { key: ['id'] }, 1],
  ])('%s show that the data moved: the scan restarts', async (_, stream, rescans) => {
    const flow = createSlowFlow([], { stream });
    await flow.sync();
    flow.simulator.setFaults([when({ offset: 87, count: 1 }, twice)]);
    const report = await flow.sync({ force: true });
    expect(streamOf(report)).toMatchObject({ verdict: 'verified', rescans });
    expect(streamOf(report).key?.columns).toEqual('key' in stream ? ['id'] : streamOf(report).key?.columns);
    expect(await flow.rows('items')).toEqual(expectRows(items));
  });

  it('do so in a first scan too, where no key is known yet', async () => {
    const far: Fault = rewriteEnvelope(({ data, pagination }) => ({
      data: data.map((record, at) =>
        (pagination?.offset ?? 0) + at === 110 ? new RawJson(JSON.stringify(items[10])) : record,
      ),
      pagination,
    }));
    const flow = createSlowFlow([when({ offset: 87, count: 1 }, far)]);
    const report = await flow.sync();
    expect(streamOf(report)).toMatchObject({ verdict: 'verified', rescans: 1 });
    expect(streamOf(report).key).toBeDefined();
    expect(await flow.rows('items')).toEqual(expectRows(items));
  });

  it('each time end with 4, and nothing is lost by key', async () => {
    const flow = createSlowFlow([], { stream: { key: ['id'] } });
    await flow.sync();
    flow.simulator.setFaults([when({ offset: 87 }, twice)]);
    const report = await flow.sync({ force: true });
    expect(report.exitCode).toBe(4);
    expect(streamOf(report)).toMatchObject({ verdict: 'drifted', rescans: 2 });
    expect(await flow.rows('items')).toEqual(expectRows(items));
  });
});

describe('the last attempt', () => {
  it('keeps rows that slid into a page it had read', async () => {
    const flow = createSlowFlow([], { stream: { key: ['id'] } });
    flow.simulator.editRecords('items', (records) => records.slice(0, 40));
    await flow.sync();
    // Four pages: as many joints as are asked about.
    const rows = items.slice(0, 90);
    flow.simulator.editRecords('items', () => rows);
    // A row leaves at the head and another comes at the end before each request: the total stays.
    let next = ROWS;
    flow.simulator.setFaults([
      when({}, ({ controls }) => {
        const come = makeItem(next++);
        controls.editRecords('items', (records) => [...records.slice(1), come]);
        return undefined;
      }),
    ]);
    const report = await flow.sync({ force: true });
    expect(streamOf(report)).toMatchObject({ verdict: 'drifted', rescans: 2 });
    expect(eventsOf(flow, 'stream-restarted')).toHaveLength(2);
    const left = next - ROWS;
    const ids = new Set((await flow.rows('items')).map((row) => row['id']));
    const missing = rows.filter(({ id }) => id >= left && !ids.has(id)).map(({ id }) => id);
    expect(missing).toEqual([]);
  });

  it('is not what a later run continues with', async () => {
    const flow = createSlowFlow([], { stream: { key: ['id'] } });
    await flow.sync();
    let next = ROWS;
    const slide = when({}, ({ controls }) => {
      const come = makeItem(next++);
      controls.editRecords('items', (records) => [...records.slice(1), come]);
      return undefined;
    });
    flow.simulator.setFaults([slide]);
    const stop = new AbortController();
    let restarts = 0;
    let pages = 0;
    await flow.sync({
      force: true,
      signal: stop.signal,
      onProgress: ({ type }) => {
        if (type === 'stream-restarted') restarts += 1;
        if (type === 'page-staged' && restarts === 2) pages += 1;
        if (pages === 3) stop.abort();
      },
    });
    flow.simulator.setFaults([]);
    const report = await flow.sync({ force: true });
    expect(streamOf(report)).toMatchObject({ verdict: 'verified', rows: { read: ROWS } });
    expect(eventsOf(flow, 'stream-resumed')).toEqual([]);
  });
});
