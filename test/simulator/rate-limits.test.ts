import { describe, expect, it } from 'vitest';

import { createSimulator } from '../../src/simulator/simulator.ts';
import type { Simulator } from '../../src/simulator/simulator.ts';
import type { SimulatorOptions } from '../../src/simulator/simulator-options.ts';
import { ask, NOON_MS } from './ask.ts';

const PATH = 'commerce/top-products';
const HOUR_MS = 3_600_000;

function askTimes(simulator: Simulator, count: number, fromMs: number, everyMs: number) {
  return Array.from({ length: count }, (_, i) => ask(simulator, PATH, { atMs: fromMs + i * everyMs }));
}

/** A service of three requests an hour, asked once too often half a second into a second. */
function exhaust(rateLimit: NonNullable<SimulatorOptions['rateLimit']>, options: SimulatorOptions = {}) {
  const simulator = createSimulator({ ...options, rateLimit: { requestsPerHour: 3, ...rateLimit } });
  askTimes(simulator, 3, NOON_MS, 200);
  return ask(simulator, PATH, { atMs: NOON_MS + 1500 });
}

describe('the hourly window', () => {
  it('allows 600 requests, the 601st gets 429 with the same seconds in header, body and message', () => {
    const simulator = createSimulator();
    const allowed = askTimes(simulator, 600, NOON_MS, 1000);
    expect(allowed.every(({ status }) => status === 200)).toBe(true);
    expect(allowed.at(-1)?.headers['x-ratelimit-remaining']).toBe('0');

    const refused = ask(simulator, PATH, { atMs: NOON_MS + 600_000 });
    expect(refused.status).toBe(429);
    expect(refused.headers['retry-after']).toBe('3000');
    expect(refused.error).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', retryAfter: 3000 });
    expect(refused.error?.message).toContain('3000 seconds');
  });

  it('opens with the first request, ends at Reset, and the next one opens a new window', () => {
    const simulator = createSimulator({ rateLimit: { requestsPerHour: 2 } });
    const first = ask(simulator, PATH, { atMs: NOON_MS });
    expect(first.headers['x-ratelimit-reset']).toBe(String((NOON_MS + HOUR_MS) / 1000));
    ask(simulator, PATH, { atMs: NOON_MS + HOUR_MS - 2 });
    expect(ask(simulator, PATH, { atMs: NOON_MS + HOUR_MS - 1 }).status).toBe(429);

    const next = ask(simulator, PATH, { atMs: NOON_MS + HOUR_MS });
    expect(next.status).toBe(200);
    expect(next.headers['x-ratelimit-remaining']).toBe('1');
    expect(next.headers['x-ratelimit-reset']).toBe(String((NOON_MS + 2 * HOUR_MS) / 1000));
  });

  it('counts every response, also refusals, and tells the headers on each', () => {
    const simulator = createSimulator();
    const paths = [PATH, 'nowhere', `${PATH}?limit=0`, PATH];
    const remaining = paths.map((path) => ask(simulator, path).headers['x-ratelimit-remaining']);
    expect(remaining).toEqual(['599', '598', '597', '596']);
  });

  it('is each key’s own, an unknown key’s too', () => {
    const simulator = createSimulator({ keys: ['a', 'b'] });
    const readRemaining = (key: string) =>
      ask(simulator, PATH, { headers: { 'x-api-key': key } }).headers['x-ratelimit-remaining'];
    expect(['a', 'a', 'b', 'x', 'x', 'y'].map(readRemaining)).toEqual([
      '599',
      '598',
      '599',
      '599',
      '598',
      '599',
    ]);
  });
});

describe('the burst limit', () => {
  it('refuses the eleventh arrival within a second, with Remaining above 0 and a short Retry-After', () => {
    const simulator = createSimulator();
    askTimes(simulator, 10, NOON_MS, 50);
    const refused = ask(simulator, PATH, { atMs: NOON_MS + 999 });
    expect(refused.status).toBe(429);
    expect(refused.headers['x-ratelimit-remaining']).toBe('589');
    expect(refused.headers['retry-after']).toBe('1');
  });

  it('allows the eleventh arrival a whole second after the first', () => {
    const simulator = createSimulator();
    askTimes(simulator, 10, NOON_MS, 50);
    expect(ask(simulator, PATH, { atMs: NOON_MS + 1000 }).status).toBe(200);
  });

  it('slides: ten at the end of one second and ten at the start of the next are too many', () => {
    const simulator = createSimulator();
    askTimes(simulator, 10, NOON_MS + 900, 1);
    const statuses = askTimes(simulator, 10, NOON_MS + 1100, 1).map(({ status }) => status);
    expect(statuses).toEqual(Array(10).fill(429));
  });

  it('counts refused arrivals, and passes who waits as told', () => {
    const simulator = createSimulator();
    askTimes(simulator, 30, NOON_MS, 10);
    expect(ask(simulator, PATH, { atMs: NOON_MS + 1100 }).status).toBe(429);
    expect(ask(simulator, PATH, { atMs: NOON_MS + 2100 }).status).toBe(200);
  });
});

describe('the forms of the rate limit headers', () => {
  it.each([
    ['epoch-seconds', String(NOON_MS / 1000 + 3600)],
    ['epoch-milliseconds', String(NOON_MS + HOUR_MS)],
    ['delta-seconds', '3599'],
  ] as const)('Reset as %s', (reset, expected) => {
    expect(exhaust({ reset }).headers['x-ratelimit-reset']).toBe(expected);
  });

  it('Retry-After as an HTTP date', () => {
    const { headers, error } = exhaust({ retryAfter: 'http-date' });
    expect(headers['retry-after']).toBe('Sat, 31 Jan 2026 13:00:00 GMT');
    expect(error?.retryAfter).toBe(3599);
  });

  it('no hint at all', () => {
    const { status, headers, error } = exhaust({
      retryAfter: 'none',
      retryAfterInBody: false,
      headers: false,
    });
    expect(status).toBe(429);
    expect(Object.keys(headers)).toEqual(['content-type', 'date']);
    expect(error).toEqual({ code: 'RATE_LIMIT_EXCEEDED', message: 'Rate limit exceeded.' });
  });

  it('whatever a function makes of them', () => {
    const { headers } = exhaust({
      headers: (standard, verdict) => ({ ...standard, 'x-ratelimit-remaining': `-${verdict.limit}` }),
    });
    expect(headers['x-ratelimit-remaining']).toBe('-3');
    expect(headers['retry-after']).toBe('3599');
  });

  it('times of the server’s own clock, which may be ahead', () => {
    const clockSkewMs = 2 * 24 * HOUR_MS;
    const { headers } = exhaust({ retryAfter: 'http-date' }, { clockSkewMs });
    expect(headers['date']).toBe('Mon, 02 Feb 2026 12:00:01 GMT');
    expect(headers['retry-after']).toBe('Mon, 02 Feb 2026 13:00:00 GMT');
    expect(headers['x-ratelimit-reset']).toBe(String((NOON_MS + HOUR_MS + clockSkewMs) / 1000));
  });

  it('Retry-After on a 429 only', () => {
    const simulator = createSimulator({ rateLimit: { requestsPerHour: 1 }, keys: [] });
    askTimes(simulator, 1, NOON_MS, 0);
    const refused = ask(simulator, PATH, { atMs: NOON_MS + 5000 });
    expect(refused.status).toBe(401);
    expect(refused.headers['retry-after']).toBeUndefined();
  });
});

describe('the log of arrivals', () => {
  it('holds what came, when, and what it got', () => {
    const simulator = createSimulator();
    ask(simulator, `${PATH}?limit=7`, { atMs: NOON_MS });
    ask(simulator, 'nowhere', { atMs: NOON_MS + 1 });
    expect(simulator.log).toMatchObject([
      { index: 0, atMs: NOON_MS, method: 'GET', path: `/api/v1/${PATH}`, query: 'limit=7', status: 200 },
      { index: 1, atMs: NOON_MS + 1, status: 404, windowStartMs: NOON_MS },
    ]);
  });

  it('knows the busiest second, wherever it starts', () => {
    const simulator = createSimulator();
    for (const afterMs of [0, 500, 900, 1000, 1100, 1499, 5000]) {
      ask(simulator, PATH, { atMs: NOON_MS + afterMs });
    }
    expect(simulator.arrivals.maxArrivalsInAnySecond()).toBe(5);
  });

  it('counts requests per key and window, and 429s', () => {
    const simulator = createSimulator({ rateLimit: { requestsPerHour: 2 } });
    for (const afterMs of [0, 1000, 2000, HOUR_MS]) ask(simulator, PATH, { atMs: NOON_MS + afterMs });
    expect(simulator.arrivals.requestsPerWindow()).toMatchObject([
      { windowStartMs: NOON_MS, requests: 3 },
      { windowStartMs: NOON_MS + HOUR_MS, requests: 1 },
    ]);
    expect(simulator.arrivals).toMatchObject({ requests: 4, rateLimited: 1 });
  });

  it('forgets when cleared, and forgets the oldest when full', () => {
    const simulator = createSimulator({ maxLogEntries: 3 });
    askTimes(simulator, 7, NOON_MS, 1000);
    expect(simulator.log.map(({ index }) => index)).toEqual([3, 4, 5, 6]);
    expect(simulator.arrivals.requests).toBe(7);
    simulator.clearLog();
    expect(simulator.log).toEqual([]);
    expect(simulator.arrivals.requests).toBe(0);
  });
});
