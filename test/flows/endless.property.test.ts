import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Transport } from '../../src/model/http.ts';
import { createItemsFlow, makeItems, streamOf } from '../support/sync-harness.ts';

const ROWS = 50;
const ITEMS = makeItems(ROWS);
const PAGE = 10;
const MOST_DECLARED = 8 * ROWS;

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
  total: fc.constantFrom<unknown>(ROWS, ROWS - 1, 0, 2 * ROWS, MOST_DECLARED, undefined, -1, '50', 1.5, null),
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
          // Three passes over as many rows as were ever declared, coming one by one, each page with a look at a joint.
          expect(transport.asked()).toBeLessThanOrEqual(3 * (2 * MOST_DECLARED + 20 + burstPerSecond));
          if (report.exitCode !== 0) return;
          const { rows, rowsDeclared, rowsInTable, verdict } = streamOf(report);
          expect(['verified', 'unverified']).toContain(verdict);
          if (verdict === 'verified') expect(rows.read).toBe(rowsDeclared);
          expect(rowsInTable).toBe(rows.read);
        },
      ),
      { numRuns: 25 },
    );
  });
});
