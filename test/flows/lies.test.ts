import { describe, expect, it } from 'vitest';
import { rewriteEnvelope } from '../../src/simulator/fault-effects.ts';
import { type Fault, type PageWindow, when } from '../../src/simulator/faults.ts';
import {
  createFlow,
  createItemsFlow,
  eventsOf,
  type Flow,
  makeItems,
  offsetsOf,
  streamOf,
} from '../support/sync-harness.ts';

const PAGE = 30;
const STEP = PAGE - 1;
const ROWS = 300;
/** Offsets of a sound scan. */
const offsets = Array.from({ length: Math.ceil((ROWS - 1) / STEP) }, (_, at) => at * STEP);
const items = makeItems(ROWS);

/** Tells a lie from an offset on, on every page or on that one alone. */
function lieFrom(offset: number, lie: Fault): Fault {
  return when({ where: (context) => context.offset >= offset }, lie);
}

const serve =
  (change: (page: PageWindow) => Partial<PageWindow>): ((from: number) => Fault) =>
  () =>
  () => ({ page: (page) => ({ ...page, ...change(page) }) });

const lies: Readonly<Record<string, (from: number) => Fault>> = {
  'serves the first page again': serve(() => ({ offset: 0 })),
  'serves the page before again': serve(({ offset }) => ({ offset: offset - STEP })),
  'serves two pages in turns': (from) =>
    serve(({ offset }) => ({ offset: from - STEP + ((offset - from) % (2 * STEP)) }))(from),
  'begins each page a row late': serve(({ offset }) => ({ offset: offset + 1 })),
  'begins each page a row early': serve(({ offset }) => ({ offset: offset - 1 })),
  'says that it serves another offset': serve(({ offset }) => ({ echoedOffset: offset - STEP })),
  'serves empty pages': serve(() => ({ limit: 0 })),
  'serves one row a page': serve(() => ({ limit: 1 })),
  'declares a total that is not a number': () =>
    rewriteEnvelope(({ data, pagination }) => ({ data, pagination: { ...pagination, total: '300' } })),
  'has forgotten its envelope': () => rewriteEnvelope(({ data }) => ({ data })),
};

function createLyingFlow(faults: readonly Fault[]): Flow {
  return createItemsFlow(items, {
    config: { quota: { burstPerSecond: 1 } },
    simulator: { faults },
    stream: { pageSize: PAGE, cursor: false },
  });
}

describe('a server that begins to lie in the middle of a scan', () => {
  it.each(Object.entries(lies))(
    'and %s is found out within two pages, whichever is the first',
    async (_, lie) => {
      for (const from of offsets.slice(1, -1)) {
        const flow = createLyingFlow([lieFrom(from, lie(from))]);
        const report = await flow.sync();
        expect(report.exitCode, `from ${from}`).toBe(4);
        expect(streamOf(report).error?.code).toMatch(/response_invalid|source_drifted/);
        // Nothing moved: no restart is tried, and no page is asked for beyond the two.
        expect(eventsOf(flow, 'stream-restarted')).toEqual([]);
        expect(Math.max(...offsetsOf(flow.arrivals)), `from ${from}`).toBeLessThanOrEqual(from + 2 * STEP);
        const asked = offsetsOf(flow.arrivals).filter((offset) => offset >= from);
        expect(asked.length, `from ${from}`).toBeLessThanOrEqual(4);
      }
    },
  );

  it('and declares another total is read again from the first sign, twice, and then to its end', async () => {
    const grown: Fault = rewriteEnvelope(({ data, pagination }) => ({
      data,
      pagination: { ...pagination, total: ROWS + 1 },
    }));
    for (const from of [29, 145]) {
      const flow = createLyingFlow([lieFrom(from, grown)]);
      const report = await flow.sync();
      expect(report.exitCode).toBe(4);
      expect(streamOf(report)).toMatchObject({ verdict: 'drifted', rescans: 2 });
      expect(eventsOf(flow, 'stream-restarted')[0]?.reason).toMatch(/total changed from 300 to 301/);
      // Each attempt that is restarted ends with the page that shows it.
      const attempts = offsetsOf(flow.arrivals).join().split('0,29').slice(1, 3);
      for (const attempt of attempts) {
        const last = Number(attempt.split(',').filter(Boolean).at(-1) ?? 29);
        expect(last).toBeLessThanOrEqual(from);
      }
    }
  });

  it('and has no end is found out within two pages of it, with a total or without', async () => {
    for (const total of [undefined, ROWS * 10]) {
      const flow = createLyingFlow([
        rewriteEnvelope(({ data, pagination }) => ({
          data,
          pagination: { ...pagination, total, hasMore: true },
        })),
      ]);
      const report = await flow.sync();
      expect(report.exitCode).toBe(4);
      expect(streamOf(report)).toMatchObject({ verdict: 'drifted', rescans: 0, rows: { read: ROWS } });
      expect(Math.max(...offsetsOf(flow.arrivals))).toBeLessThanOrEqual(ROWS + 2 * STEP);
      expect(flow.arrivals.length).toBeLessThanOrEqual(offsets.length + 5);
    }
  });
});

describe('a page that is refused while those before it were answered', () => {
  it.each([
    [404, 'Not found.'],
    [400, 'Invalid parameter: offset must be less than 100.'],
  ])(
    'with %i fails its stream, and does not count as an endpoint that the API does not have',
    async (status, message) => {
      // Built in, never synced, and named by no config: with a 404 at its head it would be unavailable.
      const body = JSON.stringify({ error: { code: 'X', message } });
      const flow = createFlow({
        simulator: {
          faults: [when({ path: 'commerce/top-products', offset: 198 }, () => ({ status, body }))],
        },
      });
      const report = await flow.sync({ streams: ['commerce_top_products'] });
      expect(report.exitCode).toBe(4);
      const { error, ...stream } = streamOf(report, 'commerce_top_products');
      expect(stream.status).toBe('failed');
      expect(error?.code).toBe('page_unreadable');
      expect(error?.message).toMatch(
        /^commerce_top_products: the API rejects the page at offset 198, although it returns earlier ones: the API answered/,
      );
      expect(error?.message).toContain(message);
      expect(error?.hint).toContain('streams.commerce_top_products.sliceBy');
    },
  );

  it('is kept apart from the stream: the next sync continues with the pages that came', async () => {
    const flow = createLyingFlow([]);
    flow.simulator.setFaults([when({ offset: 116, count: 1 }, () => ({ status: 404, body: '{}' }))]);
    expect((await flow.sync()).exitCode).toBe(4);
    expect(streamOf(await flow.sync())).toMatchObject({ verdict: 'verified' });
    expect(offsetsOf(flow.arrivals).slice(0, 2)).toEqual([0, 116]);
  });
});
