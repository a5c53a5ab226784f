import type { CountAt, QuotaLimits, QuotaState } from '../model/quota.ts';
import { CONNECT_DEADLINE_MS, LONGEST_TRANSIT_MS } from './deadlines.ts';
import type { QuotaWait } from './quota-wait.ts';

const MINUTE_MS = 60_000;

// A send counts until a window after the end of its minute, and for as long as it may have been on its way.
const COUNTS_ON_MS = MINUTE_MS + CONNECT_DEADLINE_MS + LONGEST_TRANSIT_MS;

/** Adds one send at `now` to the own count. */
export function countSend(sends: readonly CountAt[], now: number): readonly CountAt[] {
  const last = sends.at(-1);
  if (last === undefined) return [[Math.floor(now / MINUTE_MS), 1]];
  if (now < endOf(last)) return sends.with(-1, [last[0], last[1] + 1]);
  // After a move minutes begin anywhere: the next one begins where the last one ends, so that there is one a minute.
  return [...sends, [Math.max(Math.floor(now / MINUTE_MS), last[0] + 1), 1]];
}

/** Takes back a send that never reached the server. */
export function uncountSend(sends: readonly CountAt[], sentAtMs: number): readonly CountAt[] {
  const index = sends.findIndex(
    (minute) => startOf(minute) <= sentAtMs && sentAtMs < endOf(minute) && minute[1] > 0,
  );
  const found = sends[index];
  return found === undefined ? sends : sends.with(index, [found[0], found[1] - 1]);
}

/** Forgets the sends that no server can count any more at `now`. */
export function dropOldSends(sends: readonly CountAt[], now: number, windowMs: number): readonly CountAt[] {
  const first = sends.findIndex((minute) => startOf(minute) + windowMs + COUNTS_ON_MS > now);
  if (first === 0) return sends;
  return first === -1 ? [] : sends.slice(first);
}

/** Moves the sends to another time, to the millisecond: a move and the move back change nothing. */
export function moveSends(sends: readonly CountAt[], byMs: number): readonly CountAt[] {
  if (byMs === 0) return sends;
  return sends.map((minute) => [(startOf(minute) + byMs) / MINUTE_MS, minute[1]]);
}

/** The sends of `shared`, and those that `own` has more than `base`, which both came from. */
export function joinSends(
  shared: readonly CountAt[],
  { own, base }: { readonly own: readonly CountAt[]; readonly base: readonly CountAt[] },
): readonly CountAt[] {
  const known = new Map(base.map((minute) => [startOf(minute), minute[1]]));
  const joined = new Map(shared.map((minute) => [startOf(minute), minute]));
  for (const minute of own) {
    const start = startOf(minute);
    const added = minute[1] - (known.get(start) ?? 0);
    if (added > 0) joined.set(start, [minute[0], (joined.get(start)?.[1] ?? 0) + added]);
  }
  return [...joined.values()].toSorted(([a], [b]) => a - b);
}

/** Requests of a window by the own count: the lowest of the ceiling and the limit known last, less the reserve. */
export function readOwnBudget(state: QuotaState, limits: QuotaLimits): number {
  const { ceilingPerWindow: ceiling, defaultPerWindow, reserve } = limits;
  return Math.min(ceiling ?? Infinity, state.knownLimit ?? defaultPerWindow) - reserve;
}

/** When the own count has room for more than now; undefined while nothing was sent. */
export function readOwnReturn(sends: readonly CountAt[], windowMs: number): number | undefined {
  const oldest = sends.find(([, count]) => count > 0);
  return oldest && startOf(oldest) + windowMs + COUNTS_ON_MS;
}

/** How long the own count over a sliding window holds a request back; undefined when it may leave. */
export function readOwnCountWait(state: QuotaState, limits: QuotaLimits): QuotaWait | undefined {
  let excess = 1 - readOwnBudget(state, limits);
  for (const [, count] of state.sendsByMinute) excess += count;
  if (excess <= 0) return undefined;
  for (const minute of state.sendsByMinute) {
    excess -= minute[1];
    if (excess <= 0) {
      const untilMs = startOf(minute) + limits.windowMs + COUNTS_ON_MS;
      return { untilMs, reason: 'hourly-quota', endsBy: 'time' };
    }
  }
  return undefined;
}

/** When a minute begins, epoch ms; whole, whatever its fraction was rounded to. */
function startOf([minute]: CountAt): number {
  return Math.round(minute * MINUTE_MS);
}

function endOf(minute: CountAt): number {
  return startOf(minute) + MINUTE_MS;
}
