import type { FaultKind } from '../model/sent-request.ts';

/** First backoff, ms; doubles with every try. */
const BASE_BACKOFF_MS = 500;

/** Longest backoff, ms; a server's own hint may be longer. */
export const LONGEST_BACKOFF_MS = 30_000;

/** Shortest wait after a 429, whatever its hint says, ms: Retry-After: 0 must not make a hot loop. */
const SHORTEST_PAUSE_MS = 1_000;

/** Backoff before try `attempt + 1` with full jitter, ms; `random` is in [0, 1). */
export function computeBackoff(attempt: number, random: number): number {
  const ceilingMs = Math.min(LONGEST_BACKOFF_MS, BASE_BACKOFF_MS * 2 ** Math.max(0, attempt - 1));
  return Math.ceil(ceilingMs * random);
}

/** What is known when a 429 came. */
export interface RateLimitClues {
  /** The longer of Retry-After and the body's `retryAfter`, ms; undefined when neither was valid. */
  readonly hintMs: number | undefined;
  readonly remaining: number | undefined;
  /** How long until the window has surely reset, ms. */
  readonly untilResetMs: number | undefined;
  /** Rounds of 429 before this one since the last success. */
  readonly repeats: number;
  /** In [0, 1). */
  readonly random: number;
}

/**
 * How long the whole key pauses after a 429, ms. A hint is obeyed and never shortened. Without one, Remaining
 * above 0 means that the burst limit was hit: 1-2 s; else the window's reset is awaited; else it backs off.
 * Repeated rounds add a growing, jittered backoff on top.
 */
export function computeRateLimitPause(clues: RateLimitClues): number {
  const { hintMs, remaining, untilResetMs, repeats, random } = clues;
  const onTopMs = repeats > 0 ? computeBackoff(repeats, random) : 0;
  if (hintMs !== undefined) return Math.max(SHORTEST_PAUSE_MS, hintMs) + onTopMs;
  if (remaining !== undefined && remaining > 0) return Math.ceil(SHORTEST_PAUSE_MS * (1 + random)) + onTopMs;
  if (untilResetMs !== undefined) return Math.max(SHORTEST_PAUSE_MS, untilResetMs) + onTopMs;
  return SHORTEST_PAUSE_MS + computeBackoff(repeats + 1, random);
}

/** Statuses with the data that was asked for: every 2xx. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

/** Statuses that may pass by themselves: 408 Request Timeout, 425 Too Early, and every 5xx. */
export function isRetryableStatus(status: number): boolean {
  return status === 408 || status === 425 || (status >= 500 && status <= 599);
}

/** Faults that may pass by themselves; a wrong certificate, a proxy's refusal or a huge body does not. */
export function isRetryableFault(kind: FaultKind, proxyStatus?: number): boolean {
  switch (kind) {
    case 'dns':
    case 'refused':
    case 'connect-timeout':
    case 'closed':
    case 'timeout':
    case 'cut':
    case 'malformed':
    case 'headers-too-large':
    case 'body-corrupt':
    case 'other':
      return true;
    case 'proxy':
      return proxyStatus !== 407 && proxyStatus !== 403;
    case 'tls':
    case 'no-tls':
    case 'encoding-refused':
    case 'body-too-large':
    case 'aborted':
      return false;
  }
}
