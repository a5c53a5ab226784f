import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRowsFlow, dateOf } from '../support/rows-api.ts';
import {
  countScanRequests,
  createItemsFlow,
  type Flow,
  HOUR_MS,
  type ItemsOptions,
  makeItem,
  makeItems,
  offsetsOf,
  streamOf,
} from '../support/sync-harness.ts';

const scan = countScanRequests(250);

/** A stream that is read in full each time, synced once. */
async function createSynced(options: ItemsOptions = {}): Promise<Flow> {
  const flow = createItemsFlow(makeItems(250), {
    ...options,
    stream: { skipUnchanged: true, cursor: false, ...options.stream },
  });
  expect((await flow.sync()).requests).toBe(scan);
  await flow.clock.sleep(2 * HOUR_MS);
  return flow;
}

describe('skipUnchanged', () => {
  it('ends a stream after one request when nothing moved, and says by what', async () => {
    const flow = await createSynced();
    const checkpoint = await flow.query('SELECT * FROM _sluice.checkpoints');
    const published = await flow.query('SELECT * FROM _sluice.meta');
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 0, requests: 1, published: undefined });
    expect(streamOf(report)).toMatchObject({
      status: 'complete',
      mode: 'full',
      verdict: 'verified',
      rowsDeclared: 250,
      rowsInTable: 250,
      pages: 1,
      rows: { read: 0, inserted: 0, updated: 0, unchanged: 0 },
    });
    expect(streamOf(report).reasons[0]).toMatch(
      /^nothing changed since run \S+: the first page, the total \(250\) and the day \(2026-01-31\) are the same$/,
    );
    expect(await flow.query('SELECT * FROM _sluice.checkpoints')).toEqual(checkpoint);
    expect(await flow.query('SELECT * FROM _sluice.meta')).toEqual(published);
    expect(readdirSync(join(flow.stateDir, 'stage'))).toEqual([]);
  });

  it('is off unless it is asked for', async () => {
    const flow = await createSynced({ stream: { skipUnchanged: false } });
    expect((await flow.sync()).requests).toBe(scan);
  });

  it('is in the record of runs with the next run that commits', async () => {
    const flow = await createSynced();
    const { runId } = await flow.sync();
    await flow.sync({ force: true });
    const [row] = await flow.query(
      `SELECT status, verdict, pages, requests, reasons FROM _sluice.stream_runs WHERE run_id = '${runId}'`,
    );
    expect(row).toMatchObject({ status: 'complete', verdict: 'verified', pages: 1, requests: 1 });
    expect(JSON.stringify(row?.['reasons'])).toContain('nothing changed since run');
  });

  it.each<[string, (flow: Flow) => void]>([
    [
      'the first page',
      (flow) => {
        flow.simulator.editRecords('items', ([first, ...others]) => [
          { ...(first as object), name: 'restated' },
          ...others,
        ]);
      },
    ],
    [
      'the total',
      (flow) => {
        flow.simulator.editRecords('items', (records) => [...records, makeItem(900)]);
      },
    ],
  ])('reads on from that page when %s is another, and asks for nothing twice', async (_, edit) => {
    const flow = await createSynced();
    edit(flow);
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 0, requests: scan });
    expect(offsetsOf(flow.arrivals).filter((offset) => offset === 0)).toHaveLength(2);
    expect(streamOf(report).verdict).toBe('verified');
  });

  it('reads on when the day is another', async () => {
    const flow = await createSynced();
    await flow.clock.sleep(12 * HOUR_MS);
    expect((await flow.sync()).requests).toBe(scan);
    await flow.clock.sleep(2 * HOUR_MS);
    expect((await flow.sync()).requests).toBe(1);
  });

  it.each([{ force: true }, { fullRefresh: true }, { limit: 500 }])('reads on with %o', async (options) => {
    const flow = await createSynced();
    expect((await flow.sync(options)).requests).toBeGreaterThan(1);
  });

  it('reads on after a scan that was not verified', async () => {
    const flow = await createSynced();
    await flow.sync({ limit: 100, force: true });
    expect((await flow.sync()).requests).toBe(scan);
  });

  it('reads on when the config of the stream is another', async () => {
    const flow = await createSynced();
    const config = {
      streams: { items: { path: 'items', paginated: true, skipUnchanged: true, pageSize: 90 } },
    };
    expect((await flow.sync({ config })).requests).toBeGreaterThan(1);
  });

  it('continues with pages that a stopped run kept', async () => {
    const flow = await createSynced();
    await flow.sync({ force: true, maxRequests: 2 });
    const report = await flow.sync();
    expect(report.requests).toBeGreaterThan(1);
    expect(streamOf(report)).toMatchObject({
      status: 'complete',
      verdict: 'verified',
      rows: { unchanged: 250 },
    });
  });

  it('compares the question of an incremental scan as well', async () => {
    const flow = createItemsFlow(makeItems(250), {
      stream: { skipUnchanged: true, cursor: { field: 'date', param: 'startDate' } },
      endpoint: { dateField: 'date' },
    });
    await flow.sync();
    await flow.clock.sleep(2 * HOUR_MS);
    expect(streamOf(await flow.sync())).toMatchObject({ mode: 'incremental', rows: { unchanged: 200 } });
    await flow.clock.sleep(2 * HOUR_MS);
    expect(streamOf(await flow.sync())).toMatchObject({
      mode: 'incremental',
      rows: { read: 0 },
      requests: 1,
    });
  });

  it('does not end a full scan that an incremental one asked for', async () => {
    const rowsAt = (isLater: boolean) =>
      Array.from({ length: 120 }, (_, n) => ({
        date: dateOf(Math.floor(n / 6) - 20),
        score: isLater && n === 119 ? 1000 : n,
        mark: n === 116 ? 1.5 : 0,
      }));
    let isLater = false;
    const rowsFlow = createRowsFlow(
      {
        rows: () => rowsAt(isLater),
        isAsked: (row, from) => String(row['date']) >= from && !(isLater && row['mark'] === 1.5),
      },
      { skipUnchanged: true, cursor: { field: 'date', param: 'startDate' } },
    );
    await rowsFlow.syncAfter(0);
    isLater = true;
    const report = await rowsFlow.syncAfter(0.3);
    expect(streamOf(report)).toMatchObject({ mode: 'full', verdict: 'verified', rowsInTable: 120 });
    expect(await rowsFlow.flow.query('SELECT max(score) AS most FROM main.items')).toEqual([{ most: 1000 }]);
  });
});
