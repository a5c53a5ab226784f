import fc from 'fast-check';
import { expect, it } from 'vitest';
import { LinePlaces } from '../../src/stage/line-places.ts';
import { countRuns } from '../support/seeds.ts';

it('finds every nth line, however its pages come and its places are taken', () => {
  const pages = fc.array(fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 7 }), { maxLength: 12 });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 9 }),
      fc.array(fc.record({ pages, isTaken: fc.boolean() })),
      (every, steps) => {
        const places = new LinePlaces(every);
        /** Bytes of each line so far. */
        const lines: number[] = [];
        let taken = 0;
        let lastByte = 0;
        const endOf = (count: number) => lines.slice(0, count).reduce((sum, bytes) => sum + bytes, 0);
        for (const step of steps) {
          const added = step.pages.map((page) => {
            lines.push(...page);
            return { rows: page.length, endByte: endOf(lines.length) };
          });
          places.add(added);
          expect(places.hasNext).toBe(lines.length - taken >= every);
          expect(places.bytes).toBe(endOf(lines.length) - lastByte);
          if (!step.isTaken || !places.hasNext) continue;
          const { byte, lines: after } = places.take();
          taken = lines.length - (lines.length % every);
          lastByte = byte;
          const before = lines.findIndex((_, at) => endOf(at) === byte);
          expect(endOf((byte === endOf(lines.length) ? lines.length : before) + after)).toBe(endOf(taken));
          expect(places.hasNext).toBe(false);
        }
      },
    ),
    { numRuns: countRuns(200) },
  );
});
