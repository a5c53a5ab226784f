import fc from 'fast-check';
import { expect, it } from 'vitest';
import { chooseOffsets } from '../../src/discover/choose-offsets.ts';

const size = fc.integer({ min: 1, max: 100 });

it('never overlaps pages, never passes the end, and asks for no more than it may', () => {
  fc.assert(
    fc.property(fc.nat({ max: 5_000 }), size, fc.integer({ min: 1, max: 12 }), (total, pageSize, pages) => {
      const offsets = [0, ...chooseOffsets(total, pageSize, pages)];
      expect(offsets.length).toBeLessThanOrEqual(Math.max(1, Math.min(pages, Math.ceil(total / pageSize))));
      for (const [at, offset] of offsets.entries()) {
        if (at > 0) expect(offset - (offsets[at - 1] ?? 0)).toBeGreaterThanOrEqual(pageSize);
        if (total > 0) expect(offset).toBeLessThan(total);
      }
    }),
  );
});

it('reaches the last row whenever it may ask for more than one page', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5_000 }),
      size,
      fc.integer({ min: 2, max: 12 }),
      (total, pageSize, pages) => {
        const last = [0, ...chooseOffsets(total, pageSize, pages)].at(-1) ?? 0;
        expect(last + pageSize).toBeGreaterThanOrEqual(total);
      },
    ),
  );
});

it('takes everything where that is not more than it may ask for', () => {
  expect(chooseOffsets(250, 100, 3)).toEqual([100, 200]);
  expect(chooseOffsets(100, 100, 3)).toEqual([]);
  expect(chooseOffsets(0, 100, 3)).toEqual([]);
  expect(chooseOffsets(1_800, 100, 3)).toEqual([850, 1_700]);
  expect(chooseOffsets(1_800, 100, 1)).toEqual([]);
});
