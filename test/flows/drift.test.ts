import { describe, expect, it } from 'vitest';
import {
  deleteRows,
  ignoreOffset,
  insertRows,
  rewritePagination,
} from '../../src/simulator/fault-effects.ts';
import { beforeRequest, type SimulatorControls, when } from '../../src/simulator/faults.ts';
import { askAll } from '../simulator/ask.ts';
import { expectRows } from '../support/published.ts';
import {
  countScanRequests,
  createFlow,
  createItemsFlow,
  eventsOf,
  type Flow,
  type ItemsOptions,
  makeItem,
  makeItems,
  streamOf,
} from '../support/sync-harness.ts';

const ROWS = 90;
const PAGE = 30;
const CLEAN = countScanRequests(ROWS, PAGE);

/** One request at a time, so that "before request k" is a moment of the scan. */
function createMovingFlow(options: ItemsOptions = {}): Flow {
  return createItemsFlow(makeItems(ROWS), {
    ...options,
    config: { quota: { burstPerSecond: 1 } },
    stream: { pageSize: PAGE, ...options.stream },
  });
}

const newItem = makeItem(5_000);
const shifts: Readonly<Record<string, (controls: SimulatorControls) => void>> = {
  'a row inserted at the head': (service) => service.editRecords('items', insertRows(0, [newItem])),
  'a row inserted in the middle': (service) => service.editRecords('items', insertRows(45, [newItem])),
  'a row appended': (service) => service.editRecords('items', insertRows(ROWS, [newItem])),
  'a row deleted in the middle': (service) => service.editRecords('items', deleteRows(45)),
  'rows deleted at the end': (service) => service.editRecords('items', deleteRows(ROWS - 3, 3)),
  'one row deleted and another inserted': (service) =>
    service.editRecords('items', (records) => [newItem, ...records.slice(0, -1)]),
};

describe('data that moves once while it is read', () => {
  it.each(Object.entries(shifts))('%s, at any page: the scan restarts and is verified', async (_, shift) => {
    for (let k = 2; k <= CLEAN; k += 1) {
      const flow = createMovingFlow();
      flow.simulator.setFaults([beforeRequest(k, shift)]);
      const report = await flow.sync();
      expect(streamOf(report), `before request ${k}`).toMatchObject({
        status: 'complete',
        verdict: 'verified',
        rescans: 1,
      });
      expect(report.exitCode).toBe(0);
      expect(eventsOf(flow, 'stream-restarted')).toHaveLength(1);
      expect(report.requests).toBeLessThanOrEqual(2 * CLEAN + 1);
      flow.simulator.setFaults([]);
      expect(await flow.rows('items'), `before request ${k}`).toEqual(
        expectRows(askAll(flow.simulator, 'items')),
      );
    }
  });

  it('is never a mix of two days when the daily refresh comes in mid-scan', async () => {
    for (const k of [2, 4, 6]) {
      const flow = createFlow({ simulator: { sizes: { historyDays: 7 } } });
      flow.simulator.setFaults([beforeRequest(k, (service) => service.advanceDay())]);
      const report = await flow.sync({ streams: ['prompts_analytics'] });
      expect(streamOf(report, 'prompts_analytics')).toMatchObject({ verdict: 'verified', rescans: 1 });
      flow.simulator.setFaults([]);
      expect(await flow.rows('prompts_analytics')).toEqual(
        expectRows(askAll(flow.simulator, 'prompts/analytics')),
      );
    }
  });

  it('is found as well with many requests on their way at once', async () => {
    for (const k of [2, 5, 8]) {
      const flow = createItemsFlow(makeItems(600));
      flow.simulator.setFaults([
        beforeRequest(k, (service) => service.editRecords('items', insertRows(3, [newItem]))),
      ]);
      const report = await flow.sync();
      expect(streamOf(report), `before request ${k}`).toMatchObject({ verdict: 'verified', rescans: 1 });
      flow.simulator.setFaults([]);
      expect(await flow.rows('items')).toEqual(expectRows(askAll(flow.simulator, 'items')));
    }
  });

  it('leaves the published table as it was until the new scan is whole', async () => {
    const flow = createMovingFlow({ stream: { cursor: false } });
    await flow.sync();
    const before = await flow.rows('items');
    const seen: unknown[] = [];
    flow.simulator.setFaults([
      beforeRequest(4, (service) => service.editRecords('items', insertRows(0, [newItem]))),
    ]);
    const reads: Promise<unknown>[] = [];
    await flow.sync({
      force: true,
      onProgress: ({ type }) => {
        if (type === 'page-staged') reads.push(flow.rows('items').then((rows) => seen.push(rows)));
      },
    });
    await Promise.all(reads);
    expect(seen.length).toBeGreaterThan(CLEAN);
    for (const rows of seen) expect([ROWS, ROWS + 1]).toContain((rows as unknown[]).length);
    expect(seen[0]).toEqual(before);
  });
});

describe('data that moves at every page', () => {
  /** A row more at the head before each request of the scan. */
  const restless = () => {
    let id = 10_000;
    return when({}, ({ controls }) => {
      controls.editRecords('items', insertRows(0, [makeItem(id++)]));
      return undefined;
    });
  };

  it('ends with 4 after two restarts; rows are merged by key, nothing is deleted, the watermark stays', async () => {
    const flow = createMovingFlow({ stream: { cursor: false } });
    const first = await flow.sync();
    const held = await flow.query(
      'SELECT watermark, key_fields, last_verified_at, last_full_scan_at FROM _sluice.checkpoints',
    );
    flow.simulator.editRecords('items', (records) => records.slice(0, 70));
    flow.simulator.setFaults([restless()]);

    const report = await flow.sync({ force: true });
    expect(report).toMatchObject({ exitCode: 4, status: 'failed' });
    expect(streamOf(report)).toMatchObject({ status: 'failed', verdict: 'drifted', rescans: 2 });
    expect(streamOf(report).error).toMatchObject({ code: 'source_drifted', exitCode: 4 });
    expect(streamOf(report).rows.inserted).toBeGreaterThan(0);
    expect(streamOf(report).rows.deleted).toBe(0);
    expect(eventsOf(flow, 'stream-restarted')).toHaveLength(2);

    const ids = (await flow.rows('items')).map((row) => row['id']);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(expect.arrayContaining(makeItems(ROWS).map(({ id }) => id)));
    expect(
      await flow.query(
        'SELECT watermark, key_fields, last_verified_at, last_full_scan_at FROM _sluice.checkpoints',
      ),
    ).toEqual(held);
    expect(
      await flow.query(`SELECT verdict FROM _sluice.stream_runs WHERE run_id = '${report.runId}'`),
    ).toEqual([{ verdict: 'drifted' }]);
    expect(first.exitCode).toBe(0);
  });

  it('does not move the watermark of an incremental stream', async () => {
    const flow = createMovingFlow({ endpoint: { dateField: 'date' } });
    await flow.sync();
    const [before] = await flow.query('SELECT watermark FROM _sluice.checkpoints');
    flow.simulator.setFaults([restless()]);
    const report = await flow.sync({ force: true });
    expect(streamOf(report)).toMatchObject({ mode: 'incremental', verdict: 'drifted' });
    expect(await flow.query('SELECT watermark FROM _sluice.checkpoints')).toEqual([before]);
    expect(streamOf(report).watermark).toBe(before?.['watermark']);
  });

  it('leaves a table without a key as it was', async () => {
    const twins = Array.from({ length: ROWS }, (_, at) => ({ word: `word ${at % 40}` }));
    const flow = createItemsFlow(twins, {
      config: { quota: { burstPerSecond: 1 } },
      stream: { pageSize: PAGE },
    });
    expect(streamOf(await flow.sync()).key).toBeUndefined();
    const before = await flow.rows('items');
    let at = 0;
    flow.simulator.setFaults([
      when({}, ({ controls }) => {
        controls.editRecords('items', insertRows(0, [{ word: `new ${at++}` }]));
        return undefined;
      }),
    ]);
    const report = await flow.sync({ force: true });
    expect(report.exitCode).toBe(4);
    expect(streamOf(report).error?.code).toBe('source_drifted');
    expect(await flow.rows('items')).toEqual(before);
  });

  it('is forgotten by the next quiet run, which equals a clean one', async () => {
    const flow = createMovingFlow({ stream: { cursor: false } });
    flow.simulator.setFaults([restless()]);
    expect((await flow.sync()).exitCode).toBe(4);
    flow.simulator.setFaults([]);
    const report = await flow.sync();
    expect(streamOf(report)).toMatchObject({ status: 'complete', verdict: 'verified', rescans: 0 });
    expect(await flow.rows('items')).toEqual(expectRows(askAll(flow.simulator, 'items')));
  });

  it('spends a bounded number of requests', async () => {
    const flow = createMovingFlow();
    flow.simulator.setFaults([restless()]);
    const report = await flow.sync();
    expect(report.requests).toBeLessThanOrEqual(3 * (CLEAN + 3));
  });
});

describe('an order that is not the same twice', () => {
  it('ends with 4, never with rows missing in silence', async () => {
    let turn = 0;
    const flow = createMovingFlow();
    flow.simulator.setFaults([
      when({}, ({ controls }) => {
        turn += 1;
        controls.editRecords('items', (records) => [
          ...records.slice(turn % 7),
          ...records.slice(0, turn % 7),
        ]);
        return undefined;
      }),
    ]);
    const report = await flow.sync();
    expect(report.exitCode).toBe(4);
    expect(streamOf(report).verdict).toBe('drifted');
  });
});

describe('a source whose pages do not follow the rules', () => {
  it.each([['asked'], ['served']] as const)(
    'ends with 4 within a few requests when it ignores the offset (%s offset echoed)',
    async (echoes) => {
      const flow = createItemsFlow(makeItems(5_000), {
        config: { quota: { burstPerSecond: 1 } },
        simulator: { faults: [ignoreOffset(echoes)] },
      });
      const report = await flow.sync();
      expect(report.exitCode).toBe(4);
      expect(report.requests).toBeLessThanOrEqual(3);
      expect(streamOf(report).error?.message).toMatch(/offset/);
      expect(flow.isPublished()).toBe(false);
    },
  );

  it('ends with 4 when it repeats two pages in turns', async () => {
    const flow = createItemsFlow(makeItems(1_000), {
      config: { quota: { burstPerSecond: 1 } },
      simulator: {
        faults: [when({}, () => ({ page: (page) => ({ ...page, offset: page.offset % 198 }) }))],
      },
    });
    const report = await flow.sync();
    expect(report.exitCode).toBe(4);
    expect(report.requests).toBeLessThanOrEqual(3 * (countScanRequests(1_000) + 2));
  });

  it('ends with 4 when it declares more rows than it has, and the request count stays bounded', async () => {
    const flow = createMovingFlow({ simulator: { faults: [rewritePagination({ total: ROWS + 50 })] } });
    const report = await flow.sync();
    expect(report.exitCode).toBe(4);
    // Nothing moved: a restart could not help.
    expect(streamOf(report)).toMatchObject({ verdict: 'drifted', rescans: 0 });
    expect(streamOf(report).error?.message).toMatch(
      /contradicts itself.*90 records returned of 140 declared/,
    );
    expect(report.requests).toBeLessThanOrEqual(CLEAN + 6);
  });

  it('ends with 4 when it declares fewer rows than it serves', async () => {
    const flow = createMovingFlow({
      simulator: { faults: [rewritePagination({ total: PAGE + 10, hasMore: true })] },
    });
    // The page that runs over the declared end gives it away.
    expect((await flow.sync()).exitCode).toBe(4);
  });

  it('restarts when the total is another on one page', async () => {
    const flow = createMovingFlow({
      simulator: { faults: [when({ nth: 4 }, rewritePagination({ total: ROWS + 1 }))] },
    });
    const report = await flow.sync();
    expect(streamOf(report)).toMatchObject({ verdict: 'verified', rescans: 1 });
    expect(eventsOf(flow, 'stream-restarted')[0]?.reason).toMatch(/total changed from 90 to 91/);
  });
});
