import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BufferPool } from '../../src/stage/buffer-pool.ts';
import { countRuns } from '../support/seeds.ts';

describe('a pool of buffers', () => {
  it('gives none to two at once, and none too small', () => {
    const step = fc.record({ size: fc.integer({ min: 0, max: 1 << 20 }), gives: fc.nat({ max: 5 }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const pool = new BufferPool();
        let taken: Buffer[] = [];
        for (const { size, gives } of steps) {
          const buffer = pool.take(size);
          expect(buffer.length).toBeGreaterThanOrEqual(size);
          expect(taken.includes(buffer)).toBe(false);
          taken.push(buffer);
          for (const given of taken.slice(0, gives)) pool.give(given);
          taken = taken.slice(gives);
        }
      }),
      { numRuns: countRuns(200) },
    );
  });

  it('keeps two megabytes at most', () => {
    const pool = new BufferPool();
    const all = Array.from({ length: 40 }, () => pool.take(2 ** 16));
    for (const buffer of all) pool.give(buffer);
    const again = Array.from({ length: 40 }, () => pool.take(2 ** 16));
    expect(again.filter((buffer) => all.includes(buffer))).toHaveLength(32);
  });

  it('gives a buffer again that was given back', () => {
    const pool = new BufferPool();
    const first = pool.take(50_000);
    expect(pool.take(50_000) === first).toBe(false);
    pool.give(first);
    expect(pool.take(60_000) === first).toBe(true);
  });
});
