import type { RateLimitVerdict } from './rate-limiter.ts';
import type { HeaderMap } from './message.ts';

/** How the limits are sent; the API's text leaves room, and servers differ. */
export interface RateLimitHeaderOptions {
  readonly reset: 'epoch-seconds' | 'epoch-milliseconds' | 'delta-seconds';
  readonly retryAfter: 'seconds' | 'http-date' | 'none';
  /** Whether a 429's body holds `error.retryAfter`. */
  readonly retryAfterInBody: boolean;
  /** False sends no X-RateLimit headers; a function replaces all four headers by what it returns. */
  readonly headers: boolean | ((standard: HeaderMap, verdict: RateLimitVerdict) => HeaderMap);
}

/** As documented: Reset is a Unix timestamp, Retry-After is in seconds and in the body too. */
export const DOCUMENTED_HEADERS: RateLimitHeaderOptions = {
  reset: 'epoch-seconds',
  retryAfter: 'seconds',
  retryAfterInBody: true,
  headers: true,
};

/** The rate limit headers of one response; `skewMs` is what the server's clock is ahead of the arrival's. */
export function buildRateLimitHeaders(
  verdict: RateLimitVerdict,
  atMs: number,
  skewMs: number,
  options: RateLimitHeaderOptions,
): HeaderMap {
  const limits: HeaderMap = {
    'x-ratelimit-limit': String(verdict.limit),
    'x-ratelimit-remaining': String(verdict.remaining),
    'x-ratelimit-reset': writeReset(verdict.resetAtMs, atMs, skewMs, options.reset),
  };
  const standard: HeaderMap = {
    ...(options.headers === false ? {} : limits),
    ...buildRetryAfter(verdict, atMs, skewMs, options.retryAfter),
  };
  return typeof options.headers === 'function' ? options.headers(standard, verdict) : standard;
}

/** Whole seconds until a next arrival may pass; rounded up, so that waiting them is enough. */
export function readRetryAfterSeconds(verdict: RateLimitVerdict): number {
  return Math.max(1, Math.ceil(verdict.retryAfterMs / 1000));
}

function writeReset(
  resetAtMs: number,
  atMs: number,
  skewMs: number,
  format: RateLimitHeaderOptions['reset'],
): string {
  switch (format) {
    // Rounded up: a client that waits until then must not come a fraction of a second early.
    case 'epoch-seconds':
      return String(Math.ceil((resetAtMs + skewMs) / 1000));
    case 'epoch-milliseconds':
      return String(Math.ceil(resetAtMs + skewMs));
    case 'delta-seconds':
      return String(Math.ceil((resetAtMs - atMs) / 1000));
  }
}

function buildRetryAfter(
  verdict: RateLimitVerdict,
  atMs: number,
  skewMs: number,
  format: RateLimitHeaderOptions['retryAfter'],
): HeaderMap {
  if (verdict.broken === undefined || format === 'none') return {};
  if (format === 'seconds') return { 'retry-after': String(readRetryAfterSeconds(verdict)) };
  const dateMs = Math.ceil((atMs + skewMs + verdict.retryAfterMs) / 1000) * 1000;
  return { 'retry-after': new Date(dateMs).toUTCString() };
}
