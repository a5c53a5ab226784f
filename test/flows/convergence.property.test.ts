import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  breakConnection,
  deleteRows,
  html,
  insertRows,
  rateLimited,
  rewritePagination,
  serverError,
} from '../../src/simulator/fault-effects.ts';
import { beforeRequest, type Fault, when } from '../../src/simulator/faults.ts';
import type { RunReport } from '../../src/model/run-report.ts';
import { askAll } from '../simulator/ask.ts';
import { expectRows } from '../support/published.ts';
import { countRuns } from '../support/seeds.ts';
import {
  createItemsFlow,
  type Flow,
  HOUR_MS,
  makeItem,
  makeItems,
  streamOf,
} from '../support/sync-harness.ts';

const ROWS = 160;

/** What happens in one run: to its requests, to the data, and to the process. */
interface Trouble {
  readonly what: 'server' | 'cut' | 'html' | 'rate' | 'total' | 'insert' | 'delete' | 'edit' | 'none';
  /** The request it happens at, counted from 1. */
  readonly at: number;
  readonly times: number;
  readonly stop: { readonly maxRequests?: number; readonly abortAtPage?: number };
  readonly hoursLater: number;
  readonly force: boolean;
}

const trouble: fc.Arbitrary<Trouble> = fc.record({
  what: fc.constantFrom('server', 'cut', 'html', 'rate', 'total', 'insert', 'delete', 'edit', 'none'),
  at: fc.integer({ min: 1, max: 9 }),
  times: fc.integer({ min: 1, max: 6 }),
  stop: fc.oneof(
    fc.constant({}),
    fc.record({ maxRequests: fc.integer({ min: 1, max: 8 }) }),
    fc.record({ abortAtPage: fc.integer({ min: 1, max: 5 }) }),
  ),
  hoursLater: fc.integer({ min: 0, max: 30 }),
  force: fc.boolean(),
});

let nextId = 10_000;

function toFault({ what, at, times }: Trouble): Fault {
  const some = (effect: Fault) => when({ nth: at, count: times }, effect);
  const move = (change: Parameters<Flow['simulator']['editRecords']>[1]) =>
    beforeRequest(at, (service) => service.editRecords('items', change));
  switch (what) {
    case 'server':
      return some(serverError(503));
    case 'cut':
      return some(breakConnection('cut'));
    case 'html':
      return some(html());
    case 'rate':
      return some(rateLimited({ retryAfter: '7' }));
    case 'total':
      return some(rewritePagination({ total: ROWS * 2 }));
    case 'insert':
      return move(insertRows(at * 7, [makeItem(nextId++)]));
    case 'delete':
      return move(deleteRows(at * 11));
    case 'edit':
      return move((records) =>
        records.map((record, index) =>
          index === at ? { ...(record as object), name: `edited ${nextId++}` } : record,
        ),
      );
    case 'none':
      return () => undefined;
  }
}

/** Invariant 7: exit 0 only with every record the API declared in its table. */
function assertHonest(report: RunReport, maxRequests?: number): void {
  const { status, verdict, reasons, rowsDeclared, rows, rowsInTable } = streamOf(report);
  if (report.exitCode !== 0 || status === 'fresh') return;
  // A run that may not read all pages once more says that they may be of two versions.
  const isApart = maxRequests !== undefined && / apart, from /.test(reasons.join());
  expect(verdict).toBe(isApart ? 'unverified' : 'verified');
  expect(rows.read).toBe(rowsDeclared);
  expect(rowsInTable).toBeGreaterThanOrEqual(rows.read);
}

async function runInto(flow: Flow, trouble: Trouble): Promise<void> {
  flow.simulator.setFaults([toFault(trouble)]);
  const stop = new AbortController();
  let pages = 0;
  const report = await flow.sync({
    force: trouble.force,
    signal: stop.signal,
    ...(trouble.stop.maxRequests !== undefined && { maxRequests: trouble.stop.maxRequests }),
    onProgress: ({ type }) => {
      if (type === 'page-staged') pages += 1;
      if (pages === trouble.stop.abortAtPage) stop.abort();
    },
  });
  expect([0, 4, 75, 130]).toContain(report.exitCode);
  assertHonest(report, trouble.stop.maxRequests);
  flow.simulator.setFaults([]);
  await flow.clock.sleep(trouble.hoursLater * HOUR_MS);
}

/** What the next run depends on, except for when it was learned. */
function readLearned(flow: Flow) {
  return flow.query(
    `SELECT path, column_name, type, watermark, key_fields, rows_declared, last_verdict
       FROM _sluice.contracts JOIN _sluice.checkpoints USING (stream) ORDER BY column_name`,
  );
}

describe('any sequence of troubles', () => {
  it('followed by one undisturbed run gives what one clean run gives', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(trouble, { minLength: 1, maxLength: 4 }),
        fc.constantFrom('full', 'replace', 'dated'),
        async (troubles, kind) => {
          const replaces = kind === 'replace';
          const flow = createItemsFlow(makeItems(ROWS), {
            config: { quota: { burstPerSecond: 3 } },
            endpoint: { dateField: 'date' },
            stream: {
              pageSize: 40,
              ...(replaces && { write: 'replace' }),
              ...(kind === 'full' && { cursor: false }),
            },
          });
          for (const one of troubles) await runInto(flow, one);
          const report = await flow.sync({ fullRefresh: true });
          expect(report.exitCode, report.error?.message).toBe(0);
          assertHonest(report);
          const source = expectRows(askAll(flow.simulator, 'items'));
          const rows = await flow.rows('items');
          if (replaces) expect(rows).toEqual(source);
          // Rows that left the source may stay (`deletes: keep`), each once; all others are as the source has them.
          const ids = rows.map((row) => row['id']);
          expect(new Set(ids).size).toBe(ids.length);
          const wanted = new Set(source.map((row) => row['id']));
          expect(rows.filter((row) => wanted.has(row['id']))).toEqual(source);
          const { flow: clean } = await flow.clean({ fullRefresh: true });
          expect((await flow.table('items')).columns).toEqual((await clean.table('items')).columns);
          expect(await readLearned(flow)).toEqual(await readLearned(clean));
        },
      ),
      { numRuns: countRuns(7) },
    );
  });
});
