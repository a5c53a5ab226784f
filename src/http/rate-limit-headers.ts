import type { RateLimitHeaderNames } from '../model/connector.ts';
import type { ResponseHeaders } from '../model/http.ts';
import type { WindowObservation } from '../model/quota.ts';
import { formatDuration } from '../text/duration.ts';
import { parseDigits, readSingleHeader } from './header-values.ts';
import { parseHttpDate } from './http-date.ts';

/** How far beyond a whole window a reset may seem to lie before it is called wrong, ms. */
export const WINDOW_SLACK_MS = 60_000;

/** What a connector says about the window of the quota. */
export interface WindowDescription {
  readonly names: RateLimitHeaderNames;
  readonly windowMs: number;
}

/** Header values, and what was odd about them. */
export interface WindowReading {
  readonly observation: WindowObservation;
  readonly serverDateMs: number | undefined;
  readonly warning: string | undefined;
}

/**
 * Reads Limit, Remaining and Reset of one response that was received at `receivedAtMs` by the local clock.
 * What is missing, repeated, no whole number or contradictory is undefined: never a reason to send more.
 */
export function readWindow(
  headers: ResponseHeaders,
  receivedAtMs: number,
  { names, windowMs }: WindowDescription,
): WindowReading {
  const serverDateMs = readServerDate(headers, receivedAtMs);
  const limit = readNumber(headers, names.limit, 10);
  const remaining = readNumber(headers, names.remaining, 10);
  const reset = readNumber(headers, names.reset, 15);
  const contradictory = limit !== undefined && remaining !== undefined && remaining > limit;
  const resetAtMs =
    reset === undefined ? undefined : readResetTime(reset, receivedAtMs, serverDateMs ?? receivedAtMs);
  const latestMs = receivedAtMs + windowMs + WINDOW_SLACK_MS;
  const clamped = resetAtMs !== undefined && resetAtMs > latestMs;
  return {
    observation: {
      // A limit of 0 says nothing that Remaining does not say.
      limit: limit === 0 ? undefined : limit,
      remaining: contradictory ? undefined : remaining,
      resetAtMs: clamped ? latestMs : resetAtMs,
    },
    serverDateMs,
    warning: clamped
      ? `the server's ${names.reset} header is further ahead than the window of ${formatDuration(windowMs)}; it is treated as one window`
      : undefined,
  };
}

/** The value of a header that an API may not have. */
function readNumber(
  headers: ResponseHeaders,
  name: string | undefined,
  maxDigits: number,
): number | undefined {
  return name === undefined ? undefined : parseDigits(readSingleHeader(headers, name), maxDigits);
}

/** The server's Date header as epoch ms; undefined when missing, repeated or malformed. */
export function readServerDate(headers: ResponseHeaders, nowMs: number): number | undefined {
  const value = readSingleHeader(headers, 'date');
  return value === undefined ? undefined : parseHttpDate(value, nowMs);
}

// Below, a number of seconds can only be a duration (three years); above, a time can only be in ms (1973).
const FIRST_EPOCH_SECONDS = 1e8;
const FIRST_EPOCH_MS = 1e11;

/**
 * Local time by which the window has surely reset. `serverNowMs` was true at or before the response left,
 * so measuring from it is late by up to a second and the way home, and never early.
 */
function readResetTime(reset: number, receivedAtMs: number, serverNowMs: number): number | undefined {
  // A server may have rounded a duration down.
  if (reset < FIRST_EPOCH_SECONDS) return receivedAtMs + reset * 1000 + 1000;
  const resetMs = reset < FIRST_EPOCH_MS ? reset * 1000 : reset;
  return resetMs < serverNowMs ? undefined : receivedAtMs + (resetMs - serverNowMs);
}
