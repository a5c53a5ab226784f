import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { proveKeys } from '../../src/discover/prove-keys.ts';
import { takeSample } from '../../src/discover/sample.ts';

const row = fc.record({
  date: fc.constantFrom('2026-01-01', '2026-01-02', '2026-01-03'),
  productId: fc.constantFrom('a', 'b', 'c', 'd'),
  region: fc.constantFrom('de', 'us'),
  rank: fc.integer({ min: 1, max: 5 }),
  score: fc.double({ noNaN: true }),
});

/** Different rows among some fields, by another way than the code's. */
function countRows(rows: readonly Readonly<Record<string, unknown>>[], fields: readonly string[]): number {
  return new Set(rows.map((one) => JSON.stringify(fields.map((field) => one[field])))).size;
}

describe('proveKeys', () => {
  it('tells the truth of every set, and none of what holds contains another that does', () => {
    fc.assert(
      fc.property(fc.array(row, { minLength: 2, maxLength: 30 }), (rows) => {
        const keys = proveKeys(takeSample(rows), undefined);
        const proved = keys.filter(({ holds }) => holds);
        for (const { fields, distinct, rows: count, holds } of keys) {
          expect(count).toBe(rows.length);
          expect(distinct).toBe(countRows(rows, fields));
          expect(holds).toBe(distinct === rows.length);
          expect(fields).not.toContain('score');
        }
        for (const one of proved)
          for (const other of proved)
            if (one !== other) expect(one.fields.every((field) => other.fields.includes(field))).toBe(false);
      }),
    );
  });

  it('finds one whenever there is one', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(row, {
          minLength: 2,
          maxLength: 20,
          selector: ({ date, productId, region, rank }) => `${date}${productId}${region}${rank}`,
        }),
        (rows) => {
          expect(proveKeys(takeSample(rows), 'date').some(({ holds }) => holds)).toBe(true);
        },
      ),
    );
  });

  it('distinguishes values of different kinds as the table does, and takes nulls as no value', () => {
    const rows = [
      { id: 1, code: 'a' },
      { id: 2, code: null },
    ];
    expect(proveKeys(takeSample(rows), undefined).map(({ fields }) => fields)).toEqual([['id']]);
  });
});
