import type { ResponseHeaders } from '../model/http.ts';
import { readSingleHeader } from './header-values.ts';
import { parseHttpDate } from './http-date.ts';

/** Longest hint that is told apart from "never", ms (68 years); a longer one counts as this. */
export const LONGEST_HINT_MS = 2 ** 31 * 1000;

/**
 * Milliseconds to wait by a Retry-After header (RFC 9110 section 10.2.3): digits are seconds, an HTTP-date
 * is measured against the server's own Date, so that a wrong local clock does no harm. A date gone by is 0;
 * anything outside the grammar, or sent twice, is undefined.
 */
export function readRetryAfter(
  headers: ResponseHeaders,
  nowMs: number,
  serverDateMs: number | undefined,
): number | undefined {
  const value = readSingleHeader(headers, 'retry-after');
  if (value === undefined) return undefined;
  if (/^\d+$/.test(value)) return Math.min(Number(value) * 1000, LONGEST_HINT_MS);
  const referenceMs = serverDateMs ?? nowMs;
  const dateMs = parseHttpDate(value, referenceMs);
  if (dateMs === undefined) return undefined;
  return Math.min(Math.max(dateMs - referenceMs, 0), LONGEST_HINT_MS);
}

/** Milliseconds to wait by an error body's `retryAfter` (whole seconds); undefined for any other value. */
export function toRetryAfterMs(value: unknown): number | undefined {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) return undefined;
  return Math.min(value * 1000, LONGEST_HINT_MS);
}
