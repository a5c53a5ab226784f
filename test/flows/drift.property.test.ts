import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Fault } from '../../src/simulator/faults.ts';
import { askAll } from '../simulator/ask.ts';
import { expectRows } from '../support/published.ts';
import { countRuns } from '../support/seeds.ts';
import { countScanRequests, createItemsFlow, makeItem, streamOf } from '../support/sync-harness.ts';

type Item = ReturnType<typeof makeItem> & { readonly stamp: number };

interface Operation {
  /** The request it comes before, counted from 1. */
  readonly at: number;
  readonly kind: 'insert' | 'delete' | 'move' | 'reverse' | 'refresh';
  readonly from: number;
  readonly to: number;
}

const operation: fc.Arbitrary<Operation> = fc.record({
  at: fc.integer({ min: 2, max: 30 }),
  kind: fc.constantFrom('insert', 'delete', 'move', 'reverse', 'refresh'),
  from: fc.nat({ max: 90 }),
  to: fc.nat({ max: 90 }),
});

function change(rows: readonly Item[], { kind, from, to, at }: Operation): readonly Item[] {
  const index = from % Math.max(1, rows.length);
  switch (kind) {
    case 'insert':
      return rows.toSpliced(index, 0, { ...makeItem(5_000 + at), stamp: rows[0]?.stamp ?? 0 });
    case 'delete':
      return rows.toSpliced(index, 1);
    case 'move': {
      const row = rows[index];
      return row === undefined ? rows : rows.toSpliced(index, 1).toSpliced(to % rows.length, 0, row);
    }
    case 'reverse':
      return rows.toReversed();
    case 'refresh':
      return rows.map((row) => ({ ...row, stamp: at }));
  }
}

/** Applies at most one operation before each request, counted over all attempts of the run. */
function move(operations: readonly Operation[]): Fault {
  let request = 0;
  return ({ controls }) => {
    request += 1;
    const now = operations.find(({ at }) => at === request);
    if (now !== undefined) controls.editRecords('items', (rows) => change(rows as readonly Item[], now));
    return undefined;
  };
}

describe('a sync of data that moves at any requests', () => {
  it('is verified only with the rows of one version, restarts at most twice, and ends with 0 or 4', async () => {
    const seen = { verified: 0, drifted: 0, restarted: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 90 }),
        fc.uniqueArray(operation, { maxLength: 6, selector: ({ at }) => at }),
        fc.constantFrom<readonly string[] | undefined>(['id'], undefined),
        fc.constantFrom(1, 5),
        async (count, operations, key, burstPerSecond) => {
          const rows = Array.from({ length: count }, (_, id) => ({ ...makeItem(id), stamp: 0 }));
          const flow = createItemsFlow(rows, {
            config: { quota: { burstPerSecond } },
            stream: { pageSize: 20, cursor: false, ...(key && { key: [...key] }) },
          });
          flow.simulator.setFaults([move(operations)]);
          const report = await flow.sync();
          flow.simulator.setFaults([]);
          const { verdict, rescans } = streamOf(report);
          expect(rescans).toBeLessThanOrEqual(2);
          expect(report.requests).toBeLessThanOrEqual(
            3 * (countScanRequests(count + 6, 20) + 6 + 4 + burstPerSecond),
          );
          expect([report.exitCode, verdict]).toEqual(
            verdict === 'verified' ? [0, 'verified'] : [4, 'drifted'],
          );
          if (rescans > 0) seen.restarted += 1;
          seen[verdict === 'verified' ? 'verified' : 'drifted'] += 1;
          if (verdict !== 'verified') return;
          // Nothing came or went unseen: what the last request saw is what was loaded.
          expect(await flow.rows('items')).toEqual(expectRows(askAll(flow.simulator, 'items')));
        },
      ),
      {
        numRuns: countRuns(12),
        // Whatever the seed: one that restarts and one that does not.
        examples: [
          [60, [{ at: 3, kind: 'refresh', from: 0, to: 0 }], ['id'], 1],
          [60, [], undefined, 5],
        ],
      },
    );
    expect(seen.verified).toBeGreaterThan(0);
    expect(seen.restarted).toBeGreaterThan(0);
  }, 60_000);

  it('ends drifted under a data set that never stops moving, and the next quiet sync repairs all', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 25, max: 90 }), fc.nat({ max: 89 }), async (count, where) => {
        const rows = Array.from({ length: count }, (_, id) => ({ ...makeItem(id), stamp: 0 }));
        const flow = createItemsFlow(rows, { stream: { pageSize: 20, cursor: false, key: ['id'] } });
        let next = 5_000;
        flow.simulator.setFaults([
          ({ controls }) => {
            const row = { ...makeItem(next++), stamp: 0 };
            controls.editRecords('items', (list) =>
              list.toSpliced(where % list.length, 1).toSpliced(0, 0, row),
            );
            return undefined;
          },
        ]);
        const report = await flow.sync();
        expect(report.exitCode).toBe(4);
        expect(streamOf(report)).toMatchObject({ verdict: 'drifted', rescans: 2, rows: { deleted: 0 } });
        flow.simulator.setFaults([]);
        expect((await flow.sync()).exitCode).toBe(0);
        const wanted = expectRows(askAll(flow.simulator, 'items'));
        const ids = new Set(wanted.map(({ id }) => id));
        expect((await flow.rows('items')).filter(({ id }) => ids.has(id as never))).toEqual(wanted);
      }),
      { numRuns: countRuns(3) },
    );
  }, 60_000);
});
