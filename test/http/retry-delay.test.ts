import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  computeBackoff,
  computeRateLimitPause,
  isRetryableFault,
  isRetryableStatus,
  LONGEST_BACKOFF_MS,
  type RateLimitClues,
} from '../../src/http/retry-delay.ts';

const clues: RateLimitClues = {
  hintMs: undefined,
  remaining: undefined,
  untilResetMs: undefined,
  repeats: 0,
  random: 0.5,
};

describe('the backoff', () => {
  it('doubles from half a second and ends at 30 s, with full jitter', () => {
    expect([1, 2, 3, 7, 50].map((attempt) => computeBackoff(attempt, 1))).toEqual([
      500, 1_000, 2_000, 30_000, 30_000,
    ]);
    expect(computeBackoff(3, 0)).toBe(0);
    expect(computeBackoff(3, 0.25)).toBe(500);
  });
});

describe('the pause after a 429', () => {
  it('is the hint, and at least a second', () => {
    expect(computeRateLimitPause({ ...clues, hintMs: 3_000, remaining: 5 })).toBe(3_000);
    expect(computeRateLimitPause({ ...clues, hintMs: 0 })).toBe(1_000);
  });

  it('is one to two seconds without a hint while the hour has requests left: that was the burst', () => {
    expect(computeRateLimitPause({ ...clues, remaining: 5, untilResetMs: 900_000, random: 0 })).toBe(1_000);
    expect(computeRateLimitPause({ ...clues, remaining: 5, random: 0.999 })).toBe(1_999);
  });

  it('lasts until the reset without a hint when nothing or nobody knows what remains', () => {
    expect(computeRateLimitPause({ ...clues, remaining: 0, untilResetMs: 900_000 })).toBe(900_000);
    expect(computeRateLimitPause({ ...clues, untilResetMs: 900_000 })).toBe(900_000);
    expect(computeRateLimitPause({ ...clues, remaining: 0, untilResetMs: 5 })).toBe(1_000);
  });

  it('is a backoff of at least a second without any clue', () => {
    expect(computeRateLimitPause({ ...clues, random: 0 })).toBe(1_000);
    expect(computeRateLimitPause({ ...clues, random: 1 })).toBe(1_500);
  });

  it('grows with every repeated 429, on top of the hint', () => {
    const pause = (repeats: number) =>
      computeRateLimitPause({ ...clues, hintMs: 10_000, repeats, random: 1 });
    expect([0, 1, 2, 3].map(pause)).toEqual([10_000, 10_500, 11_000, 12_000]);
  });

  it('is finite, never below a second and never below the hint', () => {
    const optional = (max: number) => fc.option(fc.integer({ min: -5, max }), { nil: undefined });
    fc.assert(
      fc.property(
        fc.record({
          hintMs: fc.option(fc.nat(2 ** 31), { nil: undefined }),
          remaining: optional(1000),
          untilResetMs: optional(4_000_000),
          repeats: fc.nat(2_000),
          random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        }),
        (any) => {
          const pauseMs = computeRateLimitPause(any);
          expect(pauseMs).toBeGreaterThanOrEqual(Math.max(1_000, any.hintMs ?? 0));
          const baseMs = Math.max(2_000, any.hintMs ?? any.untilResetMs ?? 0);
          expect(pauseMs).toBeLessThanOrEqual(baseMs + LONGEST_BACKOFF_MS);
        },
      ),
    );
  });
});

describe('what may pass by itself', () => {
  it('is 408, 425 and every 5xx, and no other status', () => {
    const statuses = [
      200, 301, 400, 401, 403, 404, 407, 408, 409, 418, 422, 425, 429, 500, 502, 503, 520, 599,
    ];
    expect(statuses.filter(isRetryableStatus)).toEqual([408, 425, 500, 502, 503, 520, 599]);
  });

  it('is a fault of the network, and no wrong certificate, refusing proxy or body beyond the limit', () => {
    expect(isRetryableFault('closed')).toBe(true);
    expect(isRetryableFault('body-corrupt')).toBe(true);
    expect(isRetryableFault('proxy', 502)).toBe(true);
    expect(isRetryableFault('proxy', 407)).toBe(false);
    expect(isRetryableFault('tls')).toBe(false);
    expect(isRetryableFault('body-too-large')).toBe(false);
  });
});
