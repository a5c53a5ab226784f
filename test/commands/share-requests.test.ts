import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shareRequests } from '../../src/commands/verify/compare-api.ts';

describe('requests shared among streams', () => {
  it('are what small streams need, and the rest for the others', () => {
    expect(shareRequests([4, Infinity, 21], 50)).toEqual([4, 25, 21]);
    expect(shareRequests([2, 2], 50)).toEqual([2, 2]);
    expect(shareRequests([30, 30, 30], 50)).toEqual([16, 17, 17]);
    expect(shareRequests([Infinity], 50)).toEqual([50]);
    expect(shareRequests([], 50)).toEqual([]);
  });

  it('are never more than there are, nor more than are needed, and none is left while one is needed', () => {
    const need = fc.oneof(fc.integer({ min: 1, max: 500 }), fc.constant(Infinity));
    fc.assert(
      fc.property(
        fc.array(need, { maxLength: 12 }),
        fc.integer({ min: 0, max: 1_000 }),
        (needs, requests) => {
          const shares = shareRequests(needs, requests);
          const given = shares.reduce((sum, share) => sum + share, 0);
          expect(given).toBeLessThanOrEqual(requests);
          for (const [at, share] of shares.entries()) expect(share).toBeLessThanOrEqual(needs[at] ?? 0);
          if (needs.some((wanted, at) => (shares[at] ?? 0) < wanted)) expect(given).toBe(requests);
        },
      ),
    );
  });
});
