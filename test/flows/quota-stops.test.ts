import { describe, expect, it } from 'vitest';
import { rateLimited, respondWith, setHeaders } from '../../src/simulator/fault-effects.ts';
import { when } from '../../src/simulator/faults.ts';
import {
  countScanRequests,
  createFlow,
  createItemsFlow,
  eventsOf,
  type Flow,
  HOUR_MS,
  type ItemsOptions,
  makeFolder,
  makeItems,
  noBuiltIns,
  offsetsOf,
  streamOf,
} from '../support/sync-harness.ts';

const ROWS = 2_000;
const CLEAN = countScanRequests(ROWS);

function createSlowFlow(options: ItemsOptions = {}): Flow {
  return createItemsFlow(makeItems(ROWS), {
    ...options,
    simulator: { rateLimit: { requestsPerHour: 6, burstPerSecond: 10 }, ...options.simulator },
    config: { quota: { burstPerSecond: 10 } },
  });
}

const offsets = (flow: Flow) => offsetsOf(flow.arrivals);

async function expectEqualToClean(flow: Flow): Promise<void> {
  flow.simulator.setFaults([]);
  const { flow: clean } = await flow.clean();
  expect(await flow.rows('items')).toEqual(await clean.rows('items'));
}

describe('a server in maintenance', () => {
  it('is named with the time to come back, for people and programs', async () => {
    const flow = createItemsFlow(makeItems(20));
    flow.simulator.setFaults([
      when({}, respondWith({ status: 503, headers: { 'retry-after': '7200' }, body: '{}' })),
    ]);
    const report = await flow.sync();
    const resumeAt = new Date(flow.clock.now() + 2 * HOUR_MS).toISOString();
    expect(report).toMatchObject({ exitCode: 75, requests: 1, resumeAt });
    const { error } = streamOf(report);
    expect(error).toMatchObject({ code: 'server_failed', resumeAt });
    const utc = `${resumeAt.slice(0, 10)} ${resumeAt.slice(11, 19)} UTC`;
    expect(error?.hint).toContain(`run again after ${utc}`);
    const { describeRunFooter } = await import('../../src/render/describe-run.ts');
    expect(describeRunFooter(report, flow.clock.now())).toMatch(
      new RegExp(
        `Run the same command again from ${resumeAt.slice(11, 19)} UTC.* on: it continues from here`,
      ),
    );
    flow.simulator.setFaults([]);
    expect(await flow.sync()).toMatchObject({ exitCode: 0, resumeAt: undefined });
  });
});

describe('an API that tells no limit', () => {
  it('is waited for as its Reset says, however short the window is', async () => {
    const flow = createItemsFlow(makeItems(2_100), {
      simulator: {
        rateLimit: {
          requestsPerHour: 60,
          burstPerSecond: 10,
          windowMs: 10_000,
          headers: ({ 'x-ratelimit-limit': _limit, ...standard }) => standard,
        },
      },
      stream: { pageSize: 4 },
      config: { quota: { burstPerSecond: 10 } },
    });
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 0, rateLimited: 0 });
    expect(report.requests).toBeGreaterThan(650);
    const most = flow.simulator.arrivals.requestsPerWindow().map(({ requests }) => requests);
    expect(Math.max(...most)).toBe(60);
    expect(flow.clock.monotonic()).toBeLessThan(5 * 60_000);
  });

  it('is held to a ceiling of the config by what was sent from here', async () => {
    const flow = createItemsFlow(makeItems(400), {
      simulator: {
        rateLimit: { headers: ({ 'x-ratelimit-limit': _limit, ...standard }) => standard },
      },
      stream: { pageSize: 100 },
      config: { quota: { requestsPerHour: 3 } },
    });
    const report = await flow.sync({ maxWaitMs: 0 });
    expect(report).toMatchObject({ exitCode: 75, requests: 3 });
    expect(streamOf(report).error?.message).toMatch(/^the quota is used up/);
  });
});

describe('a run that may not wait', () => {
  it('ends with 75 and the time to come back, and later runs continue without asking for held pages again', async () => {
    const flow = createSlowFlow();
    const asked: number[] = [];
    let runs = 0;
    for (let done = false; !done && runs < 10; runs += 1) {
      const report = await flow.sync({ maxWaitMs: 0 });
      asked.push(...offsets(flow));
      done = report.exitCode === 0;
      if (done) break;
      expect(report).toMatchObject({ exitCode: 75, status: 'stopped', rateLimited: 0, waitedMs: 0 });
      expect(report.error?.code).toBe('quota_exhausted');
      expect(streamOf(report)).toMatchObject({ status: 'stopped', verdict: 'partial', requests: 6 });
      expect(flow.isPublished()).toBe(false);
      const resumeAtMs = Date.parse(report.resumeAt ?? '');
      expect(resumeAtMs).toBeGreaterThan(flow.clock.now());
      expect(resumeAtMs).toBeLessThanOrEqual(flow.clock.now() + HOUR_MS + 5_000);
      await flow.clock.sleep(resumeAtMs - flow.clock.now());
    }
    // Each later run asks once more for the head, to know that the data is the same.
    expect(asked.length).toBeLessThanOrEqual(CLEAN + runs);
    const others = asked.filter((offset) => offset !== 0);
    expect(new Set(others).size).toBe(others.length);
    await expectEqualToClean(flow);
  });

  it('sends nothing when it comes back too early', async () => {
    const flow = createSlowFlow();
    await flow.sync({ maxWaitMs: 0 });
    await flow.clock.sleep(0.5 * HOUR_MS);
    expect(await flow.sync({ maxWaitMs: 0 })).toMatchObject({ exitCode: 75, requests: 0 });
    expect(flow.arrivals).toEqual([]);
  });

  it('may still wait as long as it was allowed to, in all', async () => {
    const flow = createSlowFlow();
    const report = await flow.sync({ maxWaitMs: 2.1 * HOUR_MS });
    expect(report).toMatchObject({ exitCode: 75, requests: 18 });
    expect(report.waitedMs).toBeGreaterThan(1.9 * HOUR_MS);
    expect(report.waitedMs).toBeLessThanOrEqual(2.1 * HOUR_MS);
  });

  it('reports to observers what it waits for', async () => {
    const flow = createSlowFlow();
    await flow.sync();
    const waits = eventsOf(flow, 'waiting').filter(({ reason }) => reason === 'hourly-quota');
    expect(waits.length).toBe(3);
    expect(eventsOf(flow, 'resumed').length).toBeGreaterThanOrEqual(3);
  });
});

describe('a run with a number of requests', () => {
  it('uses no more than these and keeps every page, and the next run continues', async () => {
    const flow = createSlowFlow({ simulator: { rateLimit: {} } });
    const first = await flow.sync({ maxRequests: 9 });
    expect(first).toMatchObject({ exitCode: 75, requests: 9 });
    expect(first.error?.code).toBe('request_limit_reached');
    // Running again makes progress at once.
    expect(first.resumeAt).toBeUndefined();
    const held = offsets(flow);
    const second = await flow.sync();
    expect(second).toMatchObject({ exitCode: 0, requests: CLEAN - 9 + 1 });
    expect(eventsOf(flow, 'stream-resumed')).toEqual([
      { type: 'stream-resumed', stream: 'items', pagesHeld: 9, rowsHeld: 100 + 8 * 99 },
    ]);
    expect(held.filter((offset) => offset > 0 && offsets(flow).includes(offset))).toEqual([]);
    await expectEqualToClean(flow);
  });

  it('gets to the end in steps of three requests', async () => {
    const flow = createSlowFlow({ simulator: { rateLimit: {} } });
    let requests = 0;
    let runs = 0;
    for (let exitCode = 75; exitCode === 75 && runs < 30; runs += 1) {
      const report = await flow.sync({ maxRequests: 3 });
      exitCode = report.exitCode;
      requests += report.requests;
    }
    expect(requests).toBeLessThanOrEqual(CLEAN + runs);
    expect(runs).toBeLessThan(15);
    await expectEqualToClean(flow);
  });

  it('commits the streams it finished, and ends with 75 for the others', async () => {
    const flow = createFlow();
    const report = await flow.sync({ maxRequests: 10 });
    expect(report.exitCode).toBe(75);
    expect(report.streams.map(({ status }) => status)).toEqual(['complete', 'stopped', 'not-run', 'not-run']);
    expect(report.published).toBeDefined();
    expect(await flow.rows('visibility_mentions')).toHaveLength(900);
    const next = await flow.sync();
    expect(next.streams.map(({ status }) => status)).toEqual(['fresh', 'complete', 'complete', 'complete']);
    expect(next.requests).toBe(35 - 10 + 1);
  });
});

describe('a run with a deadline', () => {
  it('ends before it with 75 instead of sleeping past it, and the next run continues', async () => {
    const flow = createSlowFlow();
    const startMs = flow.clock.now();
    const first = await flow.sync({ deadlineMs: 1.5 * HOUR_MS });
    expect(first).toMatchObject({ exitCode: 75, requests: 12, rateLimited: 0 });
    expect(first.error?.code).toBe('deadline_reached');
    expect(flow.clock.now() - startMs).toBeLessThan(1.5 * HOUR_MS);
    expect(Date.parse(first.resumeAt ?? '')).toBeGreaterThan(startMs + 1.5 * HOUR_MS);
    const second = await flow.sync();
    expect(second).toMatchObject({ exitCode: 0, requests: CLEAN - 12 + 1 });
    await expectEqualToClean(flow);
  });
});

describe('staged pages', () => {
  const stop = { maxRequests: 9 } as const;

  it('serve for 24 hours, where the run cannot read all of them again', async () => {
    const flow = createSlowFlow({ simulator: { rateLimit: {} } });
    await flow.sync(stop);
    await flow.clock.sleep(23.9 * HOUR_MS);
    const report = await flow.sync({ maxRequests: CLEAN - 9 + 1 });
    expect(report).toMatchObject({ exitCode: 0, requests: CLEAN - 9 + 1 });
    expect(streamOf(report).verdict).toBe('unverified');
  });

  it('serve no longer than that', async () => {
    const flow = createSlowFlow({ simulator: { rateLimit: {} } });
    await flow.sync(stop);
    await flow.clock.sleep(24.1 * HOUR_MS);
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: CLEAN });
    expect(eventsOf(flow, 'stream-resumed')).toEqual([]);
  });

  it('survive a look aside with --limit or --from', async () => {
    const flow = createSlowFlow({ simulator: { rateLimit: {} }, endpoint: { dateField: 'date' } });
    await flow.sync(stop);
    expect((await flow.sync({ limit: 10 })).exitCode).toBe(0);
    expect((await flow.sync({ from: '2026-01-30' })).exitCode).toBe(0);
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: CLEAN - 9 + 1 });
    await expectEqualToClean(flow);
  });

  it('are of no use to another question', async () => {
    const flow = createSlowFlow({ simulator: { rateLimit: {} } });
    await flow.sync(stop);
    const streams = { ...noBuiltIns, items: { path: 'items', paginated: true, params: { regions: 'us' } } };
    expect(await flow.sync({ config: { streams } })).toMatchObject({ exitCode: 0, requests: CLEAN });
  });

  it('are dropped when the data changed since, and the run says so', async () => {
    const flow = createSlowFlow({ simulator: { rateLimit: {} } });
    await flow.sync(stop);
    flow.simulator.editRecords('items', (records) =>
      records.toSpliced(0, 1, { ...makeItems(1)[0], amount: -1 }),
    );
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 0, requests: CLEAN });
    expect(streamOf(report).verdict).toBe('verified');
    expect(eventsOf(flow, 'stream-restarted')).toEqual([
      { type: 'stream-restarted', stream: 'items', reason: expect.stringContaining('changed') as string },
    ]);
    await expectEqualToClean(flow);
  });

  it('show a shift behind the head at their joints', async () => {
    const flow = createSlowFlow({ simulator: { rateLimit: {} } });
    await flow.sync(stop);
    // One row less and one more: the total and the head stay as they were.
    flow.simulator.editRecords('items', (records) =>
      records.toSpliced(300, 1).toSpliced(1_500, 0, { ...makeItems(1)[0], id: 77_777 }),
    );
    const report = await flow.sync();
    expect(report.exitCode).toBe(0);
    expect(streamOf(report)).toMatchObject({ verdict: 'verified', rescans: 1 });
    await expectEqualToClean(flow);
  });
});

describe('what a server says of its limits', () => {
  it('is obeyed when a 200 says that nothing remains', async () => {
    const flow = createItemsFlow(makeItems(ROWS), {
      config: { quota: { burstPerSecond: 10 } },
      simulator: { faults: [when({ nth: 3 }, setHeaders({ 'x-ratelimit-remaining': '0' }))] },
    });
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 0, rateLimited: 0 });
    const [first, ...others] = flow.arrivals.map(({ atMs }) => atMs);
    const resetMs = (first ?? 0) + HOUR_MS;
    // The first response went alone; those sent with the third were on their way already.
    expect(others.filter((atMs) => atMs < resetMs).length).toBeLessThanOrEqual(1 + 10);
    expect(others.filter((atMs) => atMs >= resetMs).length).toBeGreaterThanOrEqual(CLEAN - 12);
  });

  it.each([
    ['in its header', { retryAfter: '120' }, 120_000],
    ['in its body', { bodyRetryAfter: 90 }, 90_000],
    ['in both: the longer one counts', { retryAfter: '5', bodyRetryAfter: 60 }, 60_000],
    ['as a date', { retryAfter: 'Sat, 31 Jan 2026 12:05:00 GMT' }, 296_000],
    ['as zero: a floor of a second', { retryAfter: '0' }, 1_000],
    [
      'not at all: the reset of the hour, as nothing remains',
      { headers: { 'x-ratelimit-remaining': '0' } },
      HOUR_MS - 4_000,
    ],
  ])('is obeyed when a 429 says how long to wait %s', async (_, hints, leastMs) => {
    const flow = createItemsFlow(makeItems(ROWS), {
      config: { quota: { burstPerSecond: 1 } },
      simulator: { faults: [when({ nth: 4 }, rateLimited(hints))] },
    });
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 0, rateLimited: 1, retries: 1, requests: CLEAN + 1 });
    const times = flow.arrivals.map(({ atMs }) => atMs);
    const pauseMs = (times[4] ?? 0) - (times[3] ?? 0);
    expect(pauseMs).toBeGreaterThanOrEqual(leastMs);
    expect(pauseMs).toBeLessThanOrEqual(leastMs + 5_000);
  });

  it('ends the run with 75 when 429 never ends, after few and spaced requests', async () => {
    const flow = createItemsFlow(makeItems(ROWS), {
      config: { quota: { burstPerSecond: 1 } },
      simulator: { faults: [when({ nth: 4, count: Infinity }, rateLimited({ retryAfter: '10' }))] },
    });
    const report = await flow.sync();
    expect(report.exitCode).toBe(75);
    expect(report.requests).toBeLessThanOrEqual(3 + 5);
    const times = flow.arrivals.slice(3).map(({ atMs }) => atMs);
    times.slice(1).forEach((atMs, at) => expect(atMs - (times[at] ?? 0)).toBeGreaterThanOrEqual(10_000));
  });

  it('ends the run at once when the wait it asks for is longer than the run may wait', async () => {
    const flow = createItemsFlow(makeItems(ROWS), {
      config: { quota: { burstPerSecond: 1 } },
      simulator: { faults: [when({ nth: 4, count: Infinity }, rateLimited({ retryAfter: '2147484' }))] },
    });
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 75, requests: 4 });
    expect(Date.parse(report.resumeAt ?? '')).toBeGreaterThan(flow.clock.now() + 2_147_000_000);
  });

  it('is remembered by the ledger: a run that was stopped in its wait, and one of another project, ask nothing before', async () => {
    const ledgerDir = makeFolder();
    const flow = createSlowFlow({ ledgerDir });
    const stop = new AbortController();
    const stopped = await flow.sync({
      signal: stop.signal,
      onProgress: (event) => {
        if (event.type !== 'waiting' || event.reason !== 'hourly-quota') return;
        queueMicrotask(() => stop.abort());
      },
    });
    expect(stopped).toMatchObject({ exitCode: 130, requests: 6 });
    const notBeforeMs = (flow.arrivals[0]?.atMs ?? 0) + HOUR_MS;

    const other = createFlow({
      clock: flow.clock,
      simulator: flow.simulator,
      ledgerDir,
      config: { streams: { ...noBuiltIns, items: { path: 'items', paginated: true } } },
    });
    expect(await other.sync({ maxWaitMs: 0 })).toMatchObject({ exitCode: 75, requests: 0 });
    expect(await flow.sync()).toMatchObject({ exitCode: 0, rateLimited: 0 });
    expect(flow.arrivals[0]?.atMs).toBeGreaterThanOrEqual(notBeforeMs);
  });

  it('is missing from a proxy that answers 503: that is not a quota', async () => {
    const flow = createItemsFlow(makeItems(ROWS), {
      simulator: { faults: [when({ nth: 5, count: 2 }, respondWith({ status: 503, body: 'busy' }))] },
    });
    expect(await flow.sync()).toMatchObject({ exitCode: 0, rateLimited: 0, retries: 2 });
  });
});
