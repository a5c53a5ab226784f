import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Transport } from '../../src/model/http.ts';
import { countRuns } from '../support/seeds.ts';
import { createItemsFlow, makeItem, makeItems, streamOf } from '../support/sync-harness.ts';

const ROWS = 50;
const ITEMS = makeItems(ROWS);
const PAGE = 10;
/** However many rows are declared: pages that bring the same few rows over and over end a scan early. */
const MOST_REQUESTS = 12 * ROWS;

/** How a server answers one page: what it sends, and what it says of it. */
interface Answer {
  readonly from: 'asked' | 'start' | 'wrapped' | 'anywhere';
  readonly count: number;
  readonly total: unknown;
  readonly hasMore: unknown;
  readonly offset: 'asked' | 'served' | 'none' | 'zero';
}

const answer: fc.Arbitrary<Answer> = fc.record({
  from: fc.constantFrom('asked', 'start', 'wrapped', 'anywhere'),
  count: fc.constantFrom(0, 1, 3, PAGE, 40),
  total: fc.constantFrom<unknown>(
    ROWS,
    ROWS - 1,
    0,
    2 * ROWS,
    8 * ROWS,
    1_000_000,
    undefined,
    -1,
    '50',
    1.5,
    null,
  ),
  hasMore: fc.constantFrom<unknown>(true, false, undefined, 'true', 1, null),
  offset: fc.constantFrom('asked', 'served', 'none', 'zero'),
});

/** A server that goes through a list of answers, over and over: a list of one is a server with one lie. */
function createServer(answers: readonly Answer[]): Transport & { readonly asked: () => number } {
  let n = 0;
  return {
    asked: () => n,
    send({ url, onHead }) {
      const said = answers[n % answers.length];
      if (said === undefined) throw new Error('there is at least one answer');
      const { from, count, total, hasMore, offset } = said;
      n += 1;
      const asked = Number(url.searchParams.get('offset') ?? 0);
      const starts = { asked, start: 0, wrapped: asked % ROWS, anywhere: (n * 17) % ROWS };
      const served = starts[from];
      const echoes = { asked, served, zero: 0, none: undefined };
      const body = JSON.stringify({
        data: ITEMS.slice(served, served + count),
        pagination: { limit: PAGE, offset: echoes[offset], total, hasMore },
      });
      const headers = { 'content-type': 'application/json' };
      onHead?.({ status: 200, headers });
      return Promise.resolve({ status: 200, headers, body: Buffer.from(body) });
    },
    close: () => Promise.resolve(),
  };
}

describe('a sync of a server whose pages never fit, and that declares a million rows', () => {
  it.each([
    ['come from anywhere', (n: number) => (n * 17) % ROWS],
    ['restart now and then', (n: number, asked: number) => (n % 5 === 0 ? 0 : asked % ROWS)],
  ])('ends after few requests when they %s', async (_, startAt) => {
    for (const burstPerSecond of [1, 8]) {
      let asked = 0;
      const transport: Transport = {
        send({ url, onHead }) {
          asked += 1;
          const offset = Number(url.searchParams.get('offset') ?? 0);
          const from = startAt(asked, offset);
          const pagination = { limit: PAGE, offset, total: 1_000_000, hasMore: true };
          const body = JSON.stringify({ data: ITEMS.slice(from, from + PAGE - (asked % 3)), pagination });
          const headers = { 'content-type': 'application/json' };
          onHead?.({ status: 200, headers });
          return Promise.resolve({ status: 200, headers, body: Buffer.from(body) });
        },
        close: () => Promise.resolve(),
      };
      const flow = createItemsFlow([], {
        transport,
        config: { quota: { burstPerSecond } },
        stream: { pageSize: PAGE, cursor: false, key: ['id'] },
      });
      expect((await flow.sync()).exitCode).toBe(4);
      expect(asked).toBeLessThan(MOST_REQUESTS);
    }
  });

  it('is read to its end when it only moves: other records come, and rows are kept by key', async () => {
    const rows = makeItems(600);
    const flow = createItemsFlow(rows, {
      config: { quota: { burstPerSecond: 1 } },
      stream: { pageSize: PAGE, cursor: false, key: ['id'] },
    });
    let next = 10_000;
    flow.simulator.setFaults([
      ({ controls }) => {
        controls.editRecords('items', (records) => [makeItem(next++), ...records]);
        return undefined;
      },
    ]);
    const report = await flow.sync();
    expect(streamOf(report)).toMatchObject({ verdict: 'drifted', rescans: 2 });
    const ids = new Set((await flow.rows('items')).map(({ id }) => id));
    // What slid beyond the end that was declared is for the next run.
    expect(rows.filter(({ id }) => !ids.has(id)).length).toBeLessThan(5);
  });
});

describe('a sync of a server that says anything about its pages', () => {
  it('ends after few requests, and with 0 only when it has every row that was declared', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(answer, { minLength: 1, maxLength: 4 }),
        fc.constantFrom(1, 8),
        async (answers, burstPerSecond) => {
          const transport = createServer(answers);
          const flow = createItemsFlow([], {
            transport,
            config: { quota: { burstPerSecond } },
            stream: { pageSize: PAGE, cursor: false },
          });
          const report = await flow.sync();
          expect([0, 4, 75]).toContain(report.exitCode);
          expect(transport.asked()).toBeLessThanOrEqual(MOST_REQUESTS);
          if (report.exitCode !== 0) return;
          const { rows, rowsDeclared, rowsInTable, verdict } = streamOf(report);
          expect(['verified', 'unverified']).toContain(verdict);
          if (verdict === 'verified') expect(rows.read).toBe(rowsDeclared);
          expect(rowsInTable).toBe(rows.read);
        },
      ),
      { numRuns: countRuns(10) },
    );
  });
});
