import type { CountAt, QuotaLimits, QuotaState } from '../model/quota.ts';
import { CONNECT_DEADLINE_MS, LONGEST_TRANSIT_MS } from './deadlines.ts';
import type { QuotaWait } from './quota-wait.ts';

const MINUTE_MS = 60_000;

// A send counts until a window after the end of its minute, and for as long as it may have been on its way.
const COUNTS_ON_MS = MINUTE_MS + CONNECT_DEADLINE_MS + LONGEST_TRANSIT_MS;

/** Adds one send at `now` to the own count. */
export function countSend(sends: readonly CountAt[], now: number): readonly CountAt[] {
  const minute = Math.floor(now / MINUTE_MS);
  const last = sends.at(-1);
  if (last !== undefined && last[0] >= minute) return sends.with(-1, [last[0], last[1] + 1]);
  return [...sends, [minute, 1]];
}

/** Takes back a send that never reached the server. */
export function uncountSend(sends: readonly CountAt[], sentAtMs: number): readonly CountAt[] {
  const minute = Math.floor(sentAtMs / MINUTE_MS);
  const index = sends.findIndex(([at, count]) => at === minute && count > 0);
  const found = sends[index];
  return found === undefined ? sends : sends.with(index, [found[0], found[1] - 1]);
}

/** Forgets the sends that no server can count any more at `now`. */
export function dropOldSends(sends: readonly CountAt[], now: number, windowMs: number): readonly CountAt[] {
  const first = sends.findIndex(([minute]) => minute * MINUTE_MS + windowMs + COUNTS_ON_MS > now);
  if (first === 0) return sends;
  return first === -1 ? [] : sends.slice(first);
}

/** Moves the sends with a clock that was set; rounded so that they count for longer, never shorter. */
export function moveSends(sends: readonly CountAt[], byMs: number): readonly CountAt[] {
  const minutes = Math.ceil(byMs / MINUTE_MS);
  return minutes === 0 ? sends : sends.map(([minute, count]) => [minute + minutes, count]);
}

/** Requests of a window by the own count: the lowest of the ceiling and the limit known last, less the reserve. */
export function readOwnBudget(state: QuotaState, limits: QuotaLimits): number {
  const { ceilingPerWindow: ceiling, defaultPerWindow, reserve } = limits;
  return Math.min(ceiling ?? Infinity, state.knownLimit ?? defaultPerWindow) - reserve;
}

/** When the own count has room for more than now; undefined while nothing was sent. */
export function readOwnReturn(sends: readonly CountAt[], windowMs: number): number | undefined {
  const oldest = sends.find(([, count]) => count > 0);
  return oldest && oldest[0] * MINUTE_MS + windowMs + COUNTS_ON_MS;
}

/** How long the own count over a sliding window holds a request back; undefined when it may leave. */
export function readOwnCountWait(state: QuotaState, limits: QuotaLimits): QuotaWait | undefined {
  let excess = 1 - readOwnBudget(state, limits);
  for (const [, count] of state.sendsByMinute) excess += count;
  if (excess <= 0) return undefined;
  for (const [minute, count] of state.sendsByMinute) {
    excess -= count;
    if (excess <= 0) {
      const untilMs = minute * MINUTE_MS + limits.windowMs + COUNTS_ON_MS;
      return { untilMs, reason: 'hourly-quota', endsBy: 'time' };
    }
  }
  return undefined;
}
