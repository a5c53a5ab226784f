import { describe, expect, it } from 'vitest';
import type { SimulatorOptions } from '../../src/simulator/simulator-options.ts';
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import {
  createFlow,
  createItemsFlow,
  DAY_MS,
  HOUR_MS,
  type ItemsOptions,
  makeFolder,
  makeItem,
  noBuiltIns,
  START_MS,
  streamOf,
} from '../support/sync-harness.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

/** Rows of a scan that takes so many requests, the last look at the head among them. */
const rowsOfRequests = (requests: number) => 100 + (requests - 2) * 99;

/** As many records as asked for, each made when it is served. */
const makeList = (length: number) => () => ({ length, at: (id: number) => ({ id, amount: id % 997 }) });

/** 20 to 80 ms each way, never twice the same in a row. */
const jitter = (n: number) => ({ thereMs: 20 + ((n * 37) % 60), backMs: 20 + ((n * 53) % 60) });

/** Least time for so many requests: full windows, then the last one's requests at the burst limit. */
function leastMs(requests: number, perHour: number, perSecond: number): number {
  const windows = Math.ceil(requests / perHour);
  return (windows - 1) * HOUR_MS + ((requests - (windows - 1) * perHour) / perSecond) * 1000;
}

function largestWindow({ arrivals }: Simulator): number {
  return Math.max(...arrivals.requestsPerWindow().map(({ requests }) => requests));
}

function spanMs({ log }: Simulator): number {
  return (log.at(-1)?.atMs ?? 0) - (log[0]?.atMs ?? 0);
}

describe('a backfill of 3,000 pages at 600 requests an hour', () => {
  it('finishes within 1 % of the least possible time, without one 429 and within both limits', async () => {
    const rows = rowsOfRequests(2_991);
    const flow = createItemsFlow(makeList(rows), {
      simulator: { rateLimit: { requestsPerHour: 600, burstPerSecond: 10 } },
      config: { quota: { burstPerSecond: 10 } },
      stream: { cursor: false },
      latency: jitter,
    });
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 0, requests: 2_991, rateLimited: 0, retries: 0 });
    expect(streamOf(report)).toMatchObject({ verdict: 'verified', rowsInTable: rows, rescans: 0 });

    const { arrivals } = flow.simulator;
    expect(arrivals.requests).toBe(2_991);
    expect(arrivals.rateLimited).toBe(0);
    expect(largestWindow(flow.simulator)).toBeLessThanOrEqual(600);
    expect(arrivals.maxArrivalsInAnySecond()).toBeLessThanOrEqual(10);
    expect(spanMs(flow.simulator)).toBeLessThanOrEqual(leastMs(2_991, 600, 10) * 1.01);
    expect(report.waitedMs).toBeGreaterThan(3.9 * HOUR_MS);
    expect(await flow.query('SELECT count(*) AS n, count(DISTINCT id) AS ids FROM main.items')).toEqual([
      { n: rows, ids: rows },
    ]);
  });
});

/** A backfill of 200 requests at 60 an hour. */
function createBackfill(rateLimit: SimulatorOptions['rateLimit'], options: ItemsOptions = {}) {
  return createItemsFlow(makeList(rowsOfRequests(200)), {
    ...options,
    simulator: {
      ...options.simulator,
      rateLimit: { requestsPerHour: 60, burstPerSecond: 10, ...rateLimit },
    },
    config: { quota: { burstPerSecond: 10, ...options.config?.quota } },
    stream: { cursor: false, key: ['id'] },
    latency: jitter,
  });
}

describe('a backfill of several hours', () => {
  const variants: Readonly<Record<string, [SimulatorOptions['rateLimit'], ItemsOptions?]>> = {
    'whose server clock is two days ahead': [{}, { simulator: { clockSkewMs: 2 * DAY_MS } }],
    'whose server clock is two days behind': [{}, { simulator: { clockSkewMs: -2 * DAY_MS } }],
    'whose server clock is 90 seconds ahead': [{}, { simulator: { clockSkewMs: 90_000 } }],
    'with Reset in milliseconds': [{ reset: 'epoch-milliseconds' }],
    'with Reset as seconds to go': [{ reset: 'delta-seconds' }],
    'with Reset as seconds to go and a skewed clock': [
      { reset: 'delta-seconds' },
      { simulator: { clockSkewMs: -DAY_MS } },
    ],
  };
  it.each(Object.entries(variants))(
    '%s keeps the limits and the least time',
    async (_, [limits, options]) => {
      const flow = createBackfill(limits, options);
      const report = await flow.sync();
      expect(report).toMatchObject({ exitCode: 0, requests: 200, rateLimited: 0 });
      expect(largestWindow(flow.simulator)).toBeLessThanOrEqual(60);
      expect(flow.simulator.arrivals.maxArrivalsInAnySecond()).toBeLessThanOrEqual(10);
      expect(spanMs(flow.simulator)).toBeLessThanOrEqual(leastMs(200, 60, 10) * 1.01);
    },
  );

  it('counts by itself while the headers are missing, over a sliding hour', async () => {
    const flow = createBackfill({ headers: false }, { config: { quota: { requestsPerHour: 60 } } });
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 0, requests: 200, rateLimited: 0 });
    const times = flow.simulator.log.map(({ atMs }) => atMs);
    const inAnyHour = times.map(
      (atMs) => times.filter((other) => other > atMs - HOUR_MS && other <= atMs).length,
    );
    expect(Math.max(...inAnyHour)).toBeLessThanOrEqual(60);
  });

  it('leaves the reserve of every window to others', async () => {
    const flow = createBackfill({}, { config: { quota: { reserve: 20 } } });
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 200, rateLimited: 0 });
    expect(largestWindow(flow.simulator)).toBe(40);
  });

  it('holds itself to a configured ceiling below the limit', async () => {
    const flow = createBackfill({}, { config: { quota: { requestsPerHour: 50 } } });
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 200, rateLimited: 0 });
    expect(largestWindow(flow.simulator)).toBe(50);
  });

  it('takes the whole of a larger plan when no ceiling is configured', async () => {
    const flow = createBackfill({ requestsPerHour: 1_200 });
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 200, rateLimited: 0 });
    expect(spanMs(flow.simulator)).toBeLessThan(60_000);
  });

  it('keeps a limit that the server lowers on the way', async () => {
    let lowered = false;
    const flow = createBackfill({
      headers: (standard, { remaining }) => {
        lowered ||= remaining <= 30;
        if (!lowered) return standard;
        return {
          ...standard,
          'x-ratelimit-limit': '20',
          'x-ratelimit-remaining': String(Math.max(0, remaining - 40)),
        };
      },
    });
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 200, rateLimited: 0 });
    const windows = flow.simulator.arrivals.requestsPerWindow().map(({ requests }) => requests);
    // In the first window those on their way when the lower limit became known had left already.
    expect(windows[0]).toBeLessThanOrEqual(40);
    expect(windows.slice(1).filter((requests) => requests > 20)).toEqual([]);
  });

  it('yields to another host that uses the same key', async () => {
    const flow = createBackfill({ burstPerSecond: 1_000 });
    const key = { 'x-api-key': 'demo-key-0123456789' };
    let elsewhere = 0;
    const report = await flow.sync({
      onProgress: ({ type }) => {
        if (type !== 'page-staged') return;
        elsewhere += 1;
        const path = '/api/v1/items?limit=1';
        flow.simulator.handle({ method: 'GET', path, headers: key }, flow.clock.now());
      },
    });
    expect(elsewhere).toBeGreaterThan(150);
    expect(report.exitCode).toBe(0);
    // What the other host spends while our requests are on their way is beyond any foresight.
    const windows = flow.simulator.arrivals.requestsPerWindow().length;
    expect(report.rateLimited).toBeLessThanOrEqual(windows * 5);
  });
});

describe('two runs of two projects with one key', () => {
  it('share the quota through one ledger: together they keep both limits', async () => {
    const clock = createVirtualClock({ startMs: START_MS });
    const ledgerDir = makeFolder();
    const records = makeList(rowsOfRequests(100));
    const simulator = createSimulator({
      builtIns: false,
      endpoints: { one: { paginated: true, records }, two: { paginated: true, records } },
      rateLimit: { requestsPerHour: 60, burstPerSecond: 10 },
    });
    const [one, two] = ['one', 'two'].map((path) =>
      createFlow({
        clock,
        simulator,
        ledgerDir,
        latency: jitter,
        config: {
          quota: { burstPerSecond: 10 },
          streams: { ...noBuiltIns, items: { path, paginated: true, key: ['id'], cursor: false } },
        },
      }),
    );
    const reports = await Promise.all([one?.sync(), two?.sync()]);
    expect(reports.map((report) => [report?.exitCode, report?.requests, report?.rateLimited])).toEqual([
      [0, 100, 0],
      [0, 100, 0],
    ]);
    expect(largestWindow(simulator)).toBeLessThanOrEqual(60);
    expect(simulator.arrivals.maxArrivalsInAnySecond()).toBeLessThanOrEqual(10);
    expect(spanMs(simulator)).toBeLessThanOrEqual(leastMs(200, 60, 10) * 1.01);
  });
});

describe('a clock that is set while a run waits for the quota', () => {
  it.each([
    // Pages more than six hours apart by the wall clock are read again.
    ['forward', 2 * HOUR_MS],
    ['back', -3 * HOUR_MS],
  ])('%s does not make it ask early', async (_, stepMs) => {
    const flow = createBackfill({});
    let stepped = false;
    const report = await flow.sync({
      onProgress: (event) => {
        if (stepped || event.type !== 'waiting' || event.reason !== 'hourly-quota') return;
        stepped = true;
        flow.clock.stepWall(stepMs);
      },
    });
    expect(stepped).toBe(true);
    expect(report).toMatchObject({ exitCode: 0, requests: 200, rateLimited: 0 });
    expect(largestWindow(flow.simulator)).toBeLessThanOrEqual(60);
  });
});

describe('a daily sync within the quota', () => {
  it('waits for nothing but the pace', async () => {
    const items = Array.from({ length: 500 }, (_, id) => makeItem(id));
    const flow = createItemsFlow(items, {
      simulator: { rateLimit: { requestsPerHour: 600, burstPerSecond: 10 } },
      config: { quota: { burstPerSecond: 10 } },
    });
    expect(await flow.sync()).toMatchObject({ exitCode: 0, waitedMs: 0, rateLimited: 0 });
  });
});
