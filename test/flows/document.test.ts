import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createUndiciTransport } from '../../src/http/undici-transport.ts';
import type { Transport } from '../../src/model/http.ts';
import { runChecks } from '../../src/commands/check.ts';
import { planOffline, planSync } from '../../src/commands/plan/plan.ts';
import { breakConnection, respondWith } from '../../src/simulator/fault-effects.ts';
import { type Fault, when } from '../../src/simulator/faults.ts';
import { rawJson } from '../../src/simulator/raw-json.ts';
import { startSimulatorServer } from '../../src/simulator/server.ts';
import { expectRows } from '../support/published.ts';
import { createSimulatorTransport } from '../support/simulator-transport.ts';
import {
  createItemsFlow,
  DAY_MS,
  eventsOf,
  type Flow,
  type ItemsOptions,
  makeItem,
  makeItems,
  START_MS,
  streamOf,
} from '../support/sync-harness.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(cleanups.splice(0).map((cleanup) => cleanup()));
});

// More than two batches of records.
const ITEMS = makeItems(2_500);

function createDocumentFlow(records: readonly unknown[] = ITEMS, options: ItemsOptions = {}): Flow {
  return createItemsFlow(records, {
    ...options,
    endpoint: { paginated: false, ...options.endpoint },
    stream: { paginated: false, ...options.stream },
  });
}

function stageOf(flow: Flow): string {
  return join(flow.stateDir, 'stage');
}

async function expectComplete(flow: Flow, records: readonly unknown[] = ITEMS): Promise<void> {
  const report = await flow.sync({ force: true });
  expect(report.exitCode).toBe(0);
  expect(streamOf(report)).toMatchObject({
    status: 'complete',
    verdict: 'verified',
    rowsDeclared: records.length,
    rowsInTable: records.length,
    pages: 1,
    rescans: 0,
  });
  expect(await flow.rows('items')).toEqual(expectRows(records));
}

describe('a dataset in one answer', () => {
  it('is one request, verified, and told batch by batch', async () => {
    const flow = createDocumentFlow();
    await expectComplete(flow);
    expect(flow.arrivals).toHaveLength(1);
    const told = eventsOf(flow, 'page-staged');
    expect(told.length).toBeGreaterThan(2);
    expect(new Set(told.map(({ pagesDone, pagesPlanned }) => `${pagesDone} of ${pagesPlanned}`))).toEqual(
      new Set(['1 of 1']),
    );
    expect(told.map(({ rowsDone }) => rowsDone)).toEqual(
      told.map(({ rowsDone }) => rowsDone).toSorted((a, b) => a - b),
    );
    expect(told.at(-1)).toMatchObject({ rowsDone: 2_500, rowsDeclared: 2_500 });
  });

  it.each(['array', 'data', { member: 'mentions' }] as const)(
    'is found wherever it is: %j',
    async (shape) => {
      await expectComplete(createDocumentFlow(ITEMS, { endpoint: { shape } }));
    },
  );

  it('is unverified, and warned of by check, where it says that there is more', async () => {
    const clock = createVirtualClock({ startMs: START_MS });
    const body = Buffer.from(JSON.stringify({ data: makeItems(50), meta: { total: 250 } }));
    const headers = { 'content-type': 'application/json', date: new Date(START_MS).toUTCString() };
    const transport: Transport = {
      close: () => Promise.resolve(),
      send: ({ onHead }) => {
        onHead?.({ status: 200, headers });
        return Promise.resolve({ status: 200, headers, body });
      },
    };
    const flow = createDocumentFlow([], { clock, transport });
    const said =
      'the answer has 50 records, and says that there are more (meta.total is 250); if the endpoint is paginated, set streams.items.paginated to true';
    const { items } = await runChecks(flow.settings(), { clock, transport });
    expect(items).toContainEqual({ name: 'items', status: 'warning', detail: said, fix: undefined });
    const stream = streamOf(await flow.sync());
    expect(stream).toMatchObject({ verdict: 'unverified', rowsInTable: 50 });
    expect(stream.reasons[0]).toBe(said);
  });

  it('keeps numbers that a double would change, in any batch', async () => {
    const records = ITEMS.map((item, at) => (at % 1_100 === 0 ? exact(item.id) : item));
    const flow = createDocumentFlow(records);
    expect((await flow.sync()).exitCode).toBe(0);
    const found = await flow.query('SELECT id, big FROM items WHERE big IS NOT NULL ORDER BY id');
    expect(found.map(({ big }) => String(big))).toEqual(
      [0, 1_100, 2_200].map((id) => `9007199254740993${id}`),
    );

    function exact(id: number) {
      const { date, name, amount } = makeItem(id);
      return rawJson(
        `{"id":${id},"date":"${date}","name":"${name}","amount":${amount},"big":9007199254740993${id}}`,
      );
    }
  });

  it('is verified again, with the rows that changed', async () => {
    const flow = createDocumentFlow();
    await flow.sync();
    flow.simulator.editRecords('items', (records) =>
      records.map((record, at) => (at === 2_000 ? { ...(record as object), name: 'restated' } : record)),
    );
    expect((await flow.sync({ force: true })).rows).toMatchObject({ inserted: 0, updated: 1 });
  });

  it('counts records that name a member twice over the whole answer', async () => {
    const records = ITEMS.map((item, at) => (at % 1_000 === 0 ? rawJson('{"id":1,"id":1,"x":2}') : item));
    const flow = createDocumentFlow(records, { stream: { key: 'auto' } });
    expect((await flow.sync()).warnings).toEqual([expect.stringMatching(/3 records name a field twice/)]);
  });
});

describe('--limit', () => {
  it('reads as many rows and no more, and says how many there are', async () => {
    const flow = createDocumentFlow();
    const report = await flow.sync({ limit: 1_200 });
    expect(streamOf(report)).toMatchObject({
      verdict: 'partial',
      rowsDeclared: 2_500,
      rowsInTable: 1_200,
      rows: { read: 1_200 },
    });
    expect(await flow.rows('items')).toEqual(expectRows(ITEMS.slice(0, 1_200)));
  });

  it('beyond the end changes nothing', async () => {
    const flow = createDocumentFlow();
    for (const limit of [2_500, 9_999])
      expect(streamOf(await flow.sync({ limit, force: true }))).toMatchObject({ rowsInTable: 2_500 });
  });
});

describe('an answer that is not whole', () => {
  const half = JSON.stringify({ data: ITEMS }).slice(0, 100_000);

  it('is asked for once more, and then leaves table and stage as they were', async () => {
    const flow = createDocumentFlow();
    await flow.sync();
    const before = await flow.rows('items');
    flow.simulator.setFaults([respondWith({ status: 200, body: half })]);
    const report = await flow.sync({ force: true });
    expect(report).toMatchObject({ exitCode: 4, requests: 2 });
    expect(streamOf(report).error).toMatchObject({ code: 'page_unreadable' });
    expect(await flow.rows('items')).toEqual(before);
    expect(readdirSync(stageOf(flow))).toEqual([]);
  });

  it('once only is read whole from the next try', async () => {
    const flow = createDocumentFlow(ITEMS, {
      simulator: { faults: [when({ nth: 1 }, respondWith({ status: 200, body: half }))] },
    });
    await expectComplete(flow);
    expect(flow.arrivals).toHaveLength(2);
  });

  it('because the connection broke is a passing fault', async () => {
    const flow = createDocumentFlow(ITEMS, {
      simulator: { faults: [when({ nth: 1, count: 2 }, breakConnection('cut'))] },
    });
    await expectComplete(flow);
    expect(flow.arrivals).toHaveLength(3);
  });
});

describe('over a socket', () => {
  async function createServedFlow(faults: readonly Fault[] = []) {
    const clock = createVirtualClock({ startMs: START_MS });
    const { simulator } = createDocumentFlow(ITEMS, { simulator: { faults } });
    const server = await startSimulatorServer(simulator, { clock });
    cleanups.push(() => server.close());
    const encodings: unknown[] = [];
    const wire = createUndiciTransport({ baseUrl: new URL(server.baseUrl), userAgent: 'test' });
    const flow = createDocumentFlow(ITEMS, {
      clock,
      transport: holdTime(wire, clock, encodings),
      config: { source: { baseUrl: server.baseUrl } },
    });
    return { flow, encodings };
  }

  /** Time stands still while a request is on its way. */
  function holdTime(wire: Transport, clock: VirtualClock, encodings: unknown[]): Transport {
    return {
      async send(request) {
        const release = clock.hold();
        try {
          const response = await wire.send(request);
          encodings.push(response.headers['content-encoding']);
          return response;
        } finally {
          release();
        }
      },
      close: () => wire.close(),
    };
  }

  it('it comes as gzip', async () => {
    const { flow, encodings } = await createServedFlow();
    await expectComplete(flow);
    expect(encodings).toEqual(['gzip']);
  });

  it('restarts after a connection that broke in the middle', async () => {
    const { flow, encodings } = await createServedFlow([when({ nth: 1, count: 2 }, breakConnection('cut'))]);
    await expectComplete(flow);
    expect(encodings).toEqual(['gzip']);
  });
});

describe('a run that ends in the middle', () => {
  it('leaves nothing behind, and the next one restarts', async () => {
    const flow = createDocumentFlow();
    const stop = new AbortController();
    const report = await flow.sync({
      signal: stop.signal,
      onProgress: ({ type }) => {
        if (type === 'page-staged') stop.abort();
      },
    });
    expect(report.exitCode).toBe(130);
    // Nor does the report speak of pages that were kept.
    expect(streamOf(report)).toMatchObject({ verdict: 'partial', pages: 0 });
    expect(readdirSync(stageOf(flow))).toEqual([]);
    await expectComplete(flow);
    expect(flow.arrivals).toHaveLength(1);
  });

  it('by a kill leaves nothing that passes for pages, also once the endpoint pages', async () => {
    const flow = createDocumentFlow(ITEMS, { stream: { cursor: false } });
    const kept = join(flow.folder, 'stage-of-a-killed-run');
    await flow.sync({
      onProgress: ({ type }) => {
        if (type === 'stream-loading') cpSync(stageOf(flow), kept, { recursive: true });
      },
    });
    expect(existsSync(join(kept, 'items', 'records.ndjson'))).toBe(true);
    const restore = () => {
      rmSync(stageOf(flow), { recursive: true });
      cpSync(kept, stageOf(flow), { recursive: true });
    };
    restore();
    await expectComplete(flow);
    expect(flow.arrivals).toHaveLength(1);
    expect(eventsOf(flow, 'stream-resumed')).toEqual([]);

    restore();
    const paged = createItemsFlow(ITEMS, { folder: flow.folder });
    expect((await paged.sync({ force: true })).exitCode).toBe(0);
    expect(eventsOf(paged, 'stream-resumed')).toEqual([]);
  });
});

describe('a cursor', () => {
  it('is refuted by an earlier record anywhere in the answer', async () => {
    // `startDate` is ignored, and the earliest dates come last.
    const flow = createDocumentFlow(makeItems(3_000, { perDay: 100 }).toReversed());
    await flow.sync();
    flow.clock.stepWall(DAY_MS);
    const report = await flow.sync();
    expect(report.exitCode).toBe(0);
    expect(streamOf(report)).toMatchObject({ mode: 'full', verdict: 'verified', rowsInTable: 3_000 });
    expect(eventsOf(flow, 'note').map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/does not honour startDate/),
    );
    expect(flow.arrivals).toHaveLength(2);
  });

  it('is proved where the endpoint honours it', async () => {
    const flow = createDocumentFlow(makeItems(3_000, { perDay: 100 }), { endpoint: { dateField: 'date' } });
    await flow.sync();
    flow.clock.stepWall(DAY_MS);
    const report = await flow.sync();
    expect(streamOf(report)).toMatchObject({ mode: 'incremental', verdict: 'verified', rowsInTable: 3_000 });
    expect(streamOf(report).rows.read).toBeLessThan(1_000);
  });
});

describe('a look at the endpoint', () => {
  const text = 'x'.repeat(400);
  const LARGE = Array.from({ length: 45_000 }, (_, id) => ({ id, text }));

  async function look(flow: Flow) {
    const transport = () => createSimulatorTransport(flow.simulator, flow.clock);
    const checked = await runChecks(flow.settings(), { clock: flow.clock, transport: transport() });
    const planned = await planSync(flow.settings(), { clock: flow.clock, transport: transport() });
    return {
      detail: checked.items.find(({ name }) => name === 'items')?.detail,
      ok: checked.ok,
      plan: planned.streams.find(({ stream }) => stream === 'items'),
    };
  }

  it('counts what is small', async () => {
    const { detail, ok, plan } = await look(createDocumentFlow());
    expect([detail, ok]).toEqual(['items: 2,500 rows', true]);
    expect(plan).toMatchObject({ rows: 2_500, pages: 1, requests: 1 });
  });

  it('gives up what is large, and plans by what an earlier run saw', async () => {
    const flow = createDocumentFlow(LARGE);
    const first = await look(flow);
    expect([first.detail, first.ok]).toEqual(['items: a large response, counted when it is synced', true]);
    expect(first.plan).toMatchObject({ action: 'full', rows: undefined, pages: 1, requests: 1 });
    expect((await flow.sync()).exitCode).toBe(0);
    flow.clock.stepWall(DAY_MS);
    expect((await look(flow)).plan).toMatchObject({ rows: 45_000, requests: 1 });
    const offline = await planOffline(flow.settings(), { clock: flow.clock });
    expect(offline.streams.find(({ stream }) => stream === 'items')).toMatchObject({ rows: 45_000 });
  });

  it('fails where a sync would', async () => {
    const flow = createItemsFlow(makeItems(300), { stream: { paginated: false } });
    const { detail, ok } = await look(flow);
    expect(ok).toBe(false);
    expect(detail).toMatch(/the endpoint is paginated/);
  });
});
