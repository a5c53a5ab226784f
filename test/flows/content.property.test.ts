import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readOutcome } from '../crash/read-outcome.ts';
import { createReference } from '../support/reference.ts';
import { countRuns } from '../support/seeds.ts';
import {
  createFlow,
  DAY_MS,
  type Flow,
  type FlowConfig,
  makeItem,
  noBuiltIns,
} from '../support/sync-harness.ts';

type StreamInput = NonNullable<FlowConfig['streams']>[string];

interface Item {
  readonly id: number;
  readonly [field: string]: unknown;
}

/** What a record may hold besides its id; no field is ever of two kinds. */
const fields = {
  name: fc.string({ unit: 'grapheme', maxLength: 8 }),
  pageViews: fc.integer({ min: -5, max: 5_000 }),
  share: fc.integer({ min: 0, max: 400 }).map((n) => n / 8),
  isOpen: fc.boolean(),
  tags: fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 }),
  meta: fc.record(
    { model: fc.constantFrom('x', 'y'), rank: fc.option(fc.nat(9)) },
    { requiredKeys: ['model'] },
  ),
};

const items: fc.Arbitrary<readonly Item[]> = fc
  .uniqueArray(fc.tuple(fc.nat(120), fc.record(fields, { requiredKeys: [] })), {
    selector: ([id]) => id,
    minLength: 1,
    maxLength: 90,
  })
  .map((list) => list.map(([id, rest]) => ({ id, date: makeItem(id).date, ...rest })))
  .map(emptySome);

/** Empties some objects, where others show what they hold: a field that is always empty is kept as it is. */
function emptySome(list: readonly (Item & { readonly meta?: object })[]): readonly Item[] {
  const shown = list.findIndex(({ meta }) => meta !== undefined);
  return list.map((item, at) =>
    at !== shown && item.meta !== undefined && item.id % 5 === 0 ? { ...item, meta: {} } : item,
  );
}

const stream = { path: 'items', paginated: true, key: ['id'], cursor: false } satisfies StreamInput;

function createTwoStreams(
  records: { readonly items: readonly Item[]; readonly others: readonly Item[] },
  options: { readonly streams: NonNullable<FlowConfig['streams']>; readonly burstPerSecond?: number },
): Flow {
  const { streams, burstPerSecond = 100_000 } = options;
  return createFlow({
    simulator: {
      builtIns: false,
      endpoints: {
        items: { paginated: true, records: () => records.items },
        others: { paginated: true, records: () => records.others },
      },
    },
    config: { quota: { burstPerSecond }, streams: { ...noBuiltIns, ...streams } },
    // Answers overtake each other.
    latency: (n) => ({ thereMs: (n * 37) % 50, backMs: (n * 53) % 70 }),
  });
}

describe('a table', () => {
  it('holds what an independent reference works out from the records of each sync', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(items, { minLength: 1, maxLength: 4 }),
        fc.constantFrom('keep', 'soft', 'hard'),
        fc.integer({ min: 5, max: 100 }),
        async (days, deletes, pageSize) => {
          const reference = createReference('id', deletes);
          const flow = createTwoStreams(
            { items: days[0] ?? [], others: [] },
            { streams: { items: { ...stream, pageSize, deletes, maxDeleteRatio: 1 } } },
          );
          for (const records of days) {
            flow.simulator.editRecords('items', () => records);
            await flow.clock.sleep(1.2 * DAY_MS);
            const report = await flow.sync();
            expect(report.exitCode, report.error?.message).toBe(0);
            reference.sync(records);
          }
          const { tables } = await readOutcome(flow.duckdbPath);
          const rows = (tables['items']?.rows ?? []).map(({ _deleted_at: gone, ...row }) => ({ gone, row }));
          const live = rows.filter(({ gone }) => gone === undefined).map(({ row }) => row);
          const text = (list: readonly unknown[]) => list.map((row) => JSON.stringify(row)).toSorted();
          expect(text(live)).toEqual(text(reference.rows()));
          if (deletes === 'soft')
            expect(
              rows
                .filter(({ gone }) => gone !== undefined)
                .map(({ row }) => String(row['id']))
                .toSorted(),
            ).toEqual(reference.gone());
        },
      ),
      { numRuns: countRuns(3) },
    );
  });

  it('does not depend on page size, on how many pages are on their way, on stops, or on the order of streams', async () => {
    await fc.assert(
      fc.asyncProperty(
        items,
        items,
        fc.record({
          pageSize: fc.integer({ min: 4, max: 100 }),
          burstPerSecond: fc.constantFrom(1, 3, 16),
          isReversed: fc.boolean(),
          stops: fc.array(fc.integer({ min: 1, max: 7 }), { maxLength: 3 }),
        }),
        async (first, second, { pageSize, burstPerSecond, isReversed, stops }) => {
          const records = { items: first, others: second };
          const plain = createTwoStreams(records, {
            streams: { items: stream, others: { ...stream, path: 'others' } },
          });
          expect((await plain.sync()).exitCode).toBe(0);
          const here = { ...stream, pageSize };
          const there = { ...stream, path: 'others', pageSize };
          const flow = createTwoStreams(records, {
            streams: isReversed ? { others: there, items: here } : { items: here, others: there },
            burstPerSecond,
          });
          for (const maxRequests of stops)
            expect([0, 75]).toContain((await flow.sync({ maxRequests })).exitCode);
          const report = await flow.sync();
          expect(report.exitCode, report.error?.message).toBe(0);
          const { tables, contract } = await readOutcome(flow.duckdbPath);
          const wanted = await readOutcome(plain.duckdbPath);
          expect(tables).toEqual(wanted.tables);
          expect(contract).toEqual(wanted.contract);
        },
      ),
      { numRuns: countRuns(3) },
    );
  });

  it('is the same to the byte of every value after a second sync of the same records, which is cheap', async () => {
    await fc.assert(
      fc.asyncProperty(items, fc.boolean(), async (records, isKeyed) => {
        const { key: _, ...keyless } = stream;
        const flow = createTwoStreams(
          { items: records, others: [] },
          { streams: { items: isKeyed ? stream : keyless } },
        );
        await flow.sync();
        const before = await flow.table('items');
        expect((await flow.sync()).requests).toBe(0);
        const again = await flow.sync({ force: true });
        expect(again).toMatchObject({ exitCode: 0, rows: { inserted: 0, updated: 0, deleted: 0 } });
        const after = await flow.table('items');
        expect(after.columns).toEqual(before.columns);
        const text = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).toSorted();
        // Which run changed a row last, and when, is part of it.
        expect(text(after.rows)).toEqual(text(before.rows));
      }),
      { numRuns: countRuns(2) },
    );
  });
});
