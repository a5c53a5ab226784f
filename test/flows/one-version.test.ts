import { describe, expect, it } from 'vitest';
import { expectRows } from '../support/published.ts';
import {
  countScanRequests,
  createItemsFlow,
  eventsOf,
  type Flow,
  HOUR_MS,
  type ItemsOptions,
  makeItems,
  streamOf,
} from '../support/sync-harness.ts';

// Pages from both sides of a refresh are not one version of the data, though every joint and the head may fit.

const PAGE = 100;
/** Seven pages. */
const items = makeItems(690);
const CLEAN = countScanRequests(items.length, PAGE);

/** A row of each page, away from its edges and not in the first page, holds another amount. */
const restated = items.map((item) =>
  item.id > 100 && item.id % 50 === 25 ? { ...item, amount: item.amount + 0.5 } : item,
);

function createSlowFlow(options: ItemsOptions = {}): Flow {
  return createItemsFlow(items, { endpoint: { dateField: 'date' }, ...options });
}

/** Has the source refreshed in place once so many hours have passed. */
function refreshAfter(flow: Flow, hours: number, after: readonly unknown[] = restated): void {
  const atMs = flow.clock.now() + hours * HOUR_MS;
  let isRefreshed = false;
  flow.simulator.setFaults([
    ({ atMs: nowMs }) => {
      if (isRefreshed || nowMs < atMs) return undefined;
      isRefreshed = true;
      flow.simulator.editRecords('items', () => after);
      return undefined;
    },
  ]);
}

describe('a scan that is continued on another day', () => {
  it('reads the pages of the day before again, and is verified with the rows of one version', async () => {
    const flow = createSlowFlow();
    await flow.sync({ maxRequests: 4 });
    flow.simulator.editRecords('items', () => restated);
    await flow.clock.sleep(23 * HOUR_MS);
    const report = await flow.sync();
    expect(streamOf(report)).toMatchObject({ verdict: 'verified', rows: { read: 690 } });
    expect(eventsOf(flow, 'stream-restarted')).toMatchObject([
      { reason: 'the data may have been refreshed since its pages were staged' },
    ]);
    expect(report.requests).toBe(CLEAN);
    expect(await flow.rows('items')).toEqual(expectRows(restated));
  });

  it('keeps its pages where the run could not read all of them again, and is unverified', async () => {
    const flow = createSlowFlow();
    await flow.sync({ maxRequests: 4 });
    flow.simulator.editRecords('items', () => restated);
    await flow.clock.sleep(23 * HOUR_MS);
    const report = await flow.sync({ maxRequests: 6 });
    expect(eventsOf(flow, 'stream-resumed')).toMatchObject([{ pagesHeld: 4 }]);
    expect(streamOf(report)).toMatchObject({ status: 'complete', verdict: 'unverified' });
    expect(streamOf(report).reasons.join()).toMatch(
      /^its pages were read 23 h apart, from 2026-01-31 12:00 to 2026-02-01 11:00 UTC/,
    );
    // The full refresh stays due: the next sync brings what was restated.
    await flow.clock.sleep(24 * HOUR_MS);
    const next = await flow.sync();
    expect(streamOf(next)).toMatchObject({ mode: 'full', verdict: 'verified' });
    expect(await flow.rows('items')).toEqual(expectRows(restated));
  });

  it('is unverified where only its last look at the first page was missing, and cannot read all again', async () => {
    const flow = createSlowFlow();
    await flow.sync({ maxRequests: CLEAN - 1 });
    flow.simulator.editRecords('items', () => restated);
    await flow.clock.sleep(23 * HOUR_MS);
    const report = await flow.sync({ maxRequests: 3 });
    expect(eventsOf(flow, 'stream-resumed')).toMatchObject([{ pagesHeld: CLEAN - 1 }]);
    expect(streamOf(report)).toMatchObject({ status: 'complete', verdict: 'unverified' });
    expect(streamOf(report).reasons.join()).toMatch(/^its pages were read 23 h apart/);
    const next = await flow.sync();
    expect(streamOf(next)).toMatchObject({ mode: 'full', verdict: 'verified' });
    expect(await flow.rows('items')).toEqual(expectRows(restated));
  });

  it('deletes nothing while its pages are of two days', async () => {
    const flow = createSlowFlow({ stream: { key: ['id'], deletes: 'hard' } });
    await flow.sync();
    const left = items.filter(({ id }) => id !== 350);
    flow.simulator.editRecords('items', () => left);
    await flow.clock.sleep(2 * HOUR_MS);
    await flow.sync({ fullRefresh: true, maxRequests: 4 });
    await flow.clock.sleep(20 * HOUR_MS);
    const report = await flow.sync({ fullRefresh: true, maxRequests: 6 });
    expect(streamOf(report)).toMatchObject({ verdict: 'unverified', rows: { deleted: 0 } });
    expect(streamOf(report).watermark).toBe('2026-01-14');
  });

  it.each([1, 3])('of the same day is continued %i hours later', async (hours) => {
    const flow = createSlowFlow();
    await flow.sync({ maxRequests: 4 });
    await flow.clock.sleep(hours * HOUR_MS);
    const report = await flow.sync();
    expect(eventsOf(flow, 'stream-resumed')).toMatchObject([{ pagesHeld: 4 }]);
    expect(streamOf(report)).toMatchObject({ verdict: 'verified' });
    expect(report.requests).toBe(CLEAN - 3);
  });
});

describe('a scan that a refresh comes into', () => {
  it('of few requests an hour is unverified, deletes nothing and stays due for a full refresh', async () => {
    const stream = { pageSize: 12, key: ['id'], deletes: 'hard' } as const;
    const { folder, clock, ...quick } = createSlowFlow({ stream });
    await quick.sync();
    // The same project, when the API allows less, and a row has left.
    const simulator = { rateLimit: { requestsPerHour: 2 } };
    const flow = createSlowFlow({ folder, clock, simulator, stream });
    flow.simulator.editRecords('items', () => items.filter(({ id }) => id !== 350));
    const left = restated.filter(({ id }) => id !== 350);
    refreshAfter(flow, 15, left);
    const report = await flow.sync({ fullRefresh: true, maxWaitMs: 100 * HOUR_MS });
    expect(streamOf(report)).toMatchObject({ verdict: 'unverified', rows: { deleted: 0 } });
    expect(streamOf(report).reasons.join()).toContain('the data may have been refreshed in between');
    expect(streamOf(report).watermark).toBe('2026-01-14');
    expect(await flow.query('SELECT count(*) AS n FROM main.items WHERE id = 350')).toEqual([{ n: 1 }]);
    const due = 'SELECT full_refresh_due IS NOT NULL AS due FROM _sluice.checkpoints';
    expect(await flow.query(due)).toEqual([{ due: true }]);
  });

  it('over several runs of one night is unverified', async () => {
    const flow = createSlowFlow({ simulator: { rateLimit: { requestsPerHour: 3 } } });
    refreshAfter(flow, 10);
    let report = await flow.sync({ maxWaitMs: 0 });
    for (let run = 0; report.exitCode === 75 && run < 10; run += 1) {
      await flow.clock.sleep(7 * HOUR_MS);
      report = await flow.sync({ maxWaitMs: 0 });
    }
    expect(report.exitCode).toBe(0);
    expect(streamOf(report)).toMatchObject({ verdict: 'unverified' });
  });

  it('around midnight is read again by the same run, where the quota allows, and is verified', async () => {
    const flow = createSlowFlow({ simulator: { rateLimit: { requestsPerHour: 4 } } });
    await flow.clock.sleep(11 * HOUR_MS + HOUR_MS / 2);
    refreshAfter(flow, 0.5);
    const report = await flow.sync();
    expect(streamOf(report)).toMatchObject({ verdict: 'verified', rescans: 1 });
    expect(eventsOf(flow, 'stream-restarted')).toMatchObject([
      { reason: 'the data may have been refreshed while its pages were read' },
    ]);
    expect(await flow.rows('items')).toEqual(expectRows(restated));
  });
});
