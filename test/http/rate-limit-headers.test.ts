import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readServerDate, readWindow, WINDOW_SLACK_MS } from '../../src/http/rate-limit-headers.ts';
import type { ResponseHeaders } from '../../src/model/http.ts';
import { countRuns } from '../support/seeds.ts';

const WINDOW_MS = 3_600_000;
const names = { limit: 'X-RateLimit-Limit', remaining: 'X-RateLimit-Remaining', reset: 'X-RateLimit-Reset' };
const now = Date.UTC(2026, 10, 20, 12, 0, 0, 400);
const serverNow = Date.UTC(2026, 10, 20, 12, 0, 0);
const date = 'Fri, 20 Nov 2026 12:00:00 GMT';

function read(headers: ResponseHeaders, receivedAtMs = now) {
  return readWindow(headers, receivedAtMs, { names, windowMs: WINDOW_MS });
}

function observe(limit: string, remaining: string, reset: string, receivedAtMs = now) {
  const headers = { date, 'x-ratelimit-limit': limit, 'x-ratelimit-remaining': remaining };
  return read({ ...headers, 'x-ratelimit-reset': reset }, receivedAtMs).observation;
}

describe('the rate limit headers', () => {
  it('make a window when all three are whole numbers', () => {
    const reset = String(serverNow / 1000 + 600);
    expect(observe('600', '599', reset)).toEqual({ limit: 600, remaining: 599, resetAtMs: now + 600_000 });
  });

  it.each(['', ' ', '-1', '1.0', '1e2', '0x10', '+5', 'NaN', 'soon', '5, 10', '٣', '99999999999999999999'])(
    'are unknown, and not zero, when they read %j',
    (text) => {
      expect(observe(text, text, text)).toEqual({
        limit: undefined,
        remaining: undefined,
        resetAtMs: undefined,
      });
    },
  );

  it('are unknown when they are missing or sent twice', () => {
    const twice = ['600', '600'];
    const headers = {
      'x-ratelimit-limit': twice,
      'x-ratelimit-remaining': twice,
      'x-ratelimit-reset': twice,
    };
    const unknown = { limit: undefined, remaining: undefined, resetAtMs: undefined };
    expect(read(headers).observation).toEqual(unknown);
    expect(read({}).observation).toEqual(unknown);
  });

  it('may have blanks around them', () => {
    expect(observe(' 600\t', '1 ', '\t60 ').limit).toBe(600);
  });

  it('do not say how much remains when Remaining is above Limit', () => {
    expect(observe('600', '601', '60')).toMatchObject({ limit: 600, remaining: undefined });
  });

  it('say nothing by a limit of 0, and keep Remaining 0', () => {
    expect(observe('0', '0', '60')).toMatchObject({ limit: undefined, remaining: 0 });
  });
});

describe('the reset header', () => {
  it('is read as seconds, as milliseconds or as a duration', () => {
    const resetAtMs = serverNow + 600_000;
    expect(observe('600', '1', String(resetAtMs / 1000)).resetAtMs).toBe(now + 600_000);
    expect(observe('600', '1', String(resetAtMs)).resetAtMs).toBe(now + 600_000);
    // A second more: the server may have rounded the duration down.
    expect(observe('600', '1', '600').resetAtMs).toBe(now + 601_000);
  });

  it.each([2 * 86_400_000, -2 * 86_400_000])(
    'does not care that the local clock is off by %i ms',
    (skewMs) => {
      const reset = String(serverNow / 1000 + 600);
      expect(observe('600', '1', reset, now + skewMs).resetAtMs).toBe(now + skewMs + 600_000);
    },
  );

  it('is compared with the local clock when the server sends no date', () => {
    const { observation } = read({ 'x-ratelimit-reset': String(serverNow / 1000 + 60) });
    expect(observation.resetAtMs).toBe(serverNow + 60_000);
  });

  it('is unknown when it lies in the past', () => {
    expect(observe('600', '0', String(serverNow / 1000 - 1)).resetAtMs).toBeUndefined();
  });

  it('counts as one hour, with a warning, when it lies in the year 2100', () => {
    const { observation, warning } = read({ date, 'x-ratelimit-reset': '4102444800' });
    expect(observation.resetAtMs).toBe(now + WINDOW_MS + WINDOW_SLACK_MS);
    expect(warning).toMatch(/X-RateLimit-Reset/);
    expect(read({ date, 'x-ratelimit-reset': '60' }).warning).toBeUndefined();
  });

  it('is never early and never more than some seconds late, whatever the clocks and the rounding', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 3_600_000 }),
        fc.integer({ min: -200_000_000, max: 200_000_000 }),
        fc.integer({ min: 0, max: 30_000 }),
        fc.integer({ min: 0, max: 999 }),
        fc.constantFrom('seconds', 'milliseconds', 'duration'),
        (untilResetMs, skewMs, onTheWayMs, fractionMs, form) => {
          const server = serverNow + fractionMs;
          const reset = server + untilResetMs;
          const value =
            form === 'seconds'
              ? Math.ceil(reset / 1000)
              : form === 'milliseconds'
                ? reset
                : Math.floor(untilResetMs / 1000);
          const received = server + skewMs + onTheWayMs;
          const truth = reset + skewMs;
          const { resetAtMs } = observe('9', '9', String(value), received);
          expect(resetAtMs).toBeGreaterThanOrEqual(truth);
          expect(resetAtMs).toBeLessThanOrEqual(truth + onTheWayMs + 2_000);
        },
      ),
    );
  });

  it('yields a finite time within an hour and its slack, or nothing, for any text', () => {
    const text = fc.oneof(
      fc.string(),
      fc.integer().map(String),
      fc.double().map(String),
      fc.bigInt().map(String),
    );
    fc.assert(
      fc.property(text, text, text, text, (limit, remaining, reset, anyDate) => {
        const headers = {
          date: anyDate,
          'x-ratelimit-limit': limit,
          'x-ratelimit-remaining': remaining,
          'x-ratelimit-reset': reset,
        };
        const { observation } = read(headers);
        for (const count of [observation.limit, observation.remaining]) {
          if (count !== undefined) expect(Number.isSafeInteger(count) && count >= 0).toBe(true);
        }
        const { resetAtMs } = observation;
        if (resetAtMs === undefined) return;
        expect(resetAtMs).toBeGreaterThanOrEqual(now);
        expect(resetAtMs).toBeLessThanOrEqual(now + WINDOW_MS + WINDOW_SLACK_MS);
      }),
      { numRuns: countRuns(1000) },
    );
  });
});

describe('the server date', () => {
  it('is undefined when it is missing, repeated or malformed', () => {
    expect(readServerDate({ date }, now)).toBe(serverNow);
    expect(readServerDate({}, now)).toBeUndefined();
    expect(readServerDate({ date: [date, date] }, now)).toBeUndefined();
    expect(readServerDate({ date: '2026-11-20T12:00:00Z' }, now)).toBeUndefined();
  });
});
