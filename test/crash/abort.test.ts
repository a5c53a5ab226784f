import { describe, expect, it } from 'vitest';
import { AbortedError } from '../../src/model/errors.ts';
import type { ProgressEvent } from '../../src/model/progress.ts';
import { expectRows } from '../support/published.ts';
import { readStagedOffsets } from './read-outcome.ts';
import {
  countScanRequests,
  createFlow,
  createItemsFlow,
  type Flow,
  makeItems,
  streamOf,
} from '../support/sync-harness.ts';

const byNumber = (one: number, other: number) => one - other;
const ITEMS = makeItems(900);
const CLEAN = countScanRequests(900);

/** The event that a sync is told to stop at, and why. */
interface Stop {
  readonly type: ProgressEvent['type'];
  readonly nth?: number;
  readonly reason?: Error;
}

/** Runs a sync that is told to stop at the nth event of a type. */
async function syncUntil(flow: Flow, { type, nth = 1, reason }: Stop) {
  const stop = new AbortController();
  let seen = 0;
  let requestsBefore = 0;
  const report = await flow.sync({
    signal: stop.signal,
    onProgress: (event) => {
      if (event.type !== type) return;
      seen += 1;
      if (seen !== nth) return;
      requestsBefore = flow.arrivals.length;
      stop.abort(reason);
    },
  });
  return { report, requestsAfter: flow.arrivals.length - requestsBefore };
}

describe('a run that is told to stop', () => {
  it('ends with 130 at any page, sends no more than what was on its way, and the next run continues', async () => {
    for (let nth = 1; nth <= CLEAN - 1; nth += 3) {
      const flow = createItemsFlow(ITEMS);
      const { report, requestsAfter } = await syncUntil(flow, { type: 'page-staged', nth });
      expect(report).toMatchObject({ exitCode: 130, status: 'interrupted' });
      expect(streamOf(report)).toMatchObject({ status: 'stopped' });
      expect(requestsAfter).toBeLessThanOrEqual(16);
      expect(flow.isPublished()).toBe(false);
      const next = await flow.sync();
      expect(next.exitCode).toBe(0);
      expect(next.requests).toBeLessThanOrEqual(CLEAN - nth + 1);
      expect(await flow.rows('items')).toEqual(expectRows(ITEMS));
    }
  });

  it('says what stopped it while pages are read as well as while their rows are loaded', async () => {
    for (const type of ['page-staged', 'stream-loading', 'stream-committing'] as const) {
      const reason = new AbortedError('stopped by SIGINT', { code: 'aborted', hint: '', exitCode: 130 });
      const { report } = await syncUntil(createItemsFlow(ITEMS), { type, reason });
      expect(report.error?.message).toBe('stopped by SIGINT');
      expect(streamOf(report).error?.message).toBe('stopped by SIGINT');
    }
  });

  it.each([
    ['700 ms on the way, every answer is kept', 700, true],
    ['10 s on the way, none is waited for longer than a stop may take', 10_000, false],
  ] as const)('with answers %s', async (_, backMs, keepsAll) => {
    const stop = new AbortController();
    let stoppedAtMs = 0;
    const flow = createItemsFlow(ITEMS, {
      latency: (n) => {
        if (n === 3) void flow.clock.sleep(100).then(abort);
        return { thereMs: 20, backMs };
      },
    });
    const abort = () => {
      stoppedAtMs = flow.clock.monotonic();
      stop.abort();
    };
    const report = await flow.sync({ signal: stop.signal });
    expect(report).toMatchObject({ exitCode: 130, status: 'interrupted' });
    expect(flow.clock.monotonic() - stoppedAtMs).toBeLessThan(5_000);
    const asked = flow.arrivals.map(({ query }) => Number(new URLSearchParams(query).get('offset')));
    const staged = readStagedOffsets(flow.stateDir, 'items');
    expect(asked.length).toBeGreaterThan(4);
    expect([...staged].sort(byNumber)).toEqual(keepsAll ? asked.sort(byNumber) : [0]);
    const next = await flow.sync();
    expect(next.exitCode).toBe(0);
    expect(next.requests).toBe(CLEAN - staged.length + (keepsAll ? 0 : 1));
    expect(await flow.rows('items')).toEqual(expectRows(ITEMS));
  });

  it('before it began sends nothing', async () => {
    const flow = createItemsFlow(ITEMS);
    const report = await flow.sync({ signal: AbortSignal.abort() });
    expect(report).toMatchObject({ exitCode: 130, requests: 0 });
    expect(flow.arrivals).toEqual([]);
    expect((await flow.sync()).exitCode).toBe(0);
  });

  it('while it waits for the quota ends at once', async () => {
    const flow = createItemsFlow(ITEMS, {
      simulator: { rateLimit: { requestsPerHour: 5 } },
      config: { quota: { burstPerSecond: 10 } },
    });
    const stop = new AbortController();
    const report = await flow.sync({
      signal: stop.signal,
      onProgress: ({ type }) => {
        if (type === 'waiting') queueMicrotask(() => stop.abort());
      },
    });
    expect(report).toMatchObject({ exitCode: 130, requests: 5 });
    expect(flow.clock.monotonic()).toBeLessThan(60_000);
  });

  it('while it loads ends with 130 or with its commit, and never with half of it', async () => {
    const flow = createItemsFlow(ITEMS);
    const { report } = await syncUntil(flow, { type: 'stream-loading' });
    expect(report.exitCode).toBe(130);
    expect(flow.isPublished()).toBe(false);
    const next = await flow.sync();
    expect(next.exitCode).toBe(0);
    expect(next.requests).toBeLessThanOrEqual(2);
    expect(await flow.rows('items')).toEqual(expectRows(ITEMS));
  });

  it('after a stream keeps that one’s commit and begins no other', async () => {
    const flow = createFlow({ simulator: { sizes: { historyDays: 4 } } });
    const { report, requestsAfter } = await syncUntil(flow, { type: 'stream-finished', nth: 1 });
    expect(report.exitCode).toBe(130);
    expect(report.streams.map(({ status }) => status)).toEqual(['complete', 'not-run', 'not-run', 'not-run']);
    expect(requestsAfter).toBe(0);
    const next = await flow.sync();
    expect(next.streams.map(({ status }) => status)).toEqual(['fresh', 'complete', 'complete', 'complete']);
  });

  it('after its last commit never ends with 0 while readers lack what it committed', async () => {
    for (const type of ['stream-finished', 'publishing'] as const) {
      const flow = createItemsFlow(ITEMS);
      const { report } = await syncUntil(flow, { type });
      expect([0, 130]).toContain(report.exitCode);
      expect(flow.isPublished()).toBe(report.exitCode === 0);
      const next = await flow.sync();
      expect(next).toMatchObject({ exitCode: 0, requests: 0 });
      expect(await flow.rows('items')).toEqual(expectRows(ITEMS));
    }
  });

  it('by an error of the caller’s own ends with that one’s exit code', async () => {
    const { AbortedError } = await import('../../src/model/errors.ts');
    const stop = new AbortController();
    const flow = createItemsFlow(ITEMS);
    const report = await flow.sync({
      signal: stop.signal,
      onProgress: ({ type }) => {
        if (type !== 'page-staged') return;
        stop.abort(new AbortedError('SIGTERM', { code: 'aborted', hint: 'Run again.', exitCode: 143 }));
      },
    });
    expect(report).toMatchObject({ exitCode: 143, status: 'interrupted' });
  });
});
