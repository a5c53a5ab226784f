import type { CountAt, QuotaState } from '../model/quota.ts';
import { ANSWER_POLL_MS, type QuotaWait } from './quota-wait.ts';

/** The server's burst window, ms. */
export const BURST_WINDOW_MS = 1_000;

/** Room for clocks that tick in whole milliseconds and timers that fire a little early, ms. */
const TIMER_MARGIN_MS = 20;

const FILLS_MS = BURST_WINDOW_MS + TIMER_MARGIN_MS;

// Lists longer than this are coarsened: at a lifted burst limit the state must not grow with the rate.
const LONGEST_LIST = 48;
const COARSE_MS = 50;

/*
 * Why at most `burstPerSecond` requests arrive within any sliding second, whatever the network does. A request
 * sent at s whose answer begins at r arrives at some a with s <= a <= r: nobody answers what has not arrived. It
 * fills a slot from s until r + 1020 ms, so at least until a + 1020 ms. Suppose more than `burstPerSecond` arrived
 * within one second, and let k be the last of them to be sent. When k was sent a slot was free, so one of the
 * others, i, no longer filled its own: a_i + 1020 <= s_k <= a_k, more than a second apart, a contradiction.
 *
 * A request without an answer counts as arrived when it failed: what was given up may still be on its way.
 */

/** How long the burst limit holds a request back; undefined when it may leave at `now`. */
export function readBurstWait(state: QuotaState, now: number, burstPerSecond: number): QuotaWait | undefined {
  let excess = state.inFlight.length + 1 - burstPerSecond;
  for (const [, count] of state.burstBusy) excess += count;
  if (excess <= 0) return undefined;
  for (const [untilMs, count] of state.burstBusy) {
    excess -= count;
    if (excess <= 0) return { untilMs, reason: 'burst', endsBy: 'answer-or-time' };
  }
  return { untilMs: now + ANSWER_POLL_MS, reason: 'burst', endsBy: 'answer-or-time' };
}

/** How long a pace learned from 429s is kept before the configured one is tried again, ms. */
const SLOWED_BURST_MS = 10 * 60_000;

/** The pace in force: what config allows, or less where the server refused it lately. */
export function readBurstLimit(state: QuotaState, burstPerSecond: number): number {
  return Math.min(burstPerSecond, state.slowedBurst?.perSecond ?? burstPerSecond);
}

/**
 * Halves the pace after a burst was refused: this server (or somebody else with the key) leaves less than
 * the documented limit, and a page that is refused again and again would use up its tries.
 */
export function slowBurst(state: QuotaState, now: number, burstPerSecond: number): QuotaState {
  const filled = state.burstBusy.reduce((sum, [, count]) => sum + count, state.inFlight.length);
  // A request that went alone was not refused for its pace.
  if (filled < 2) return state;
  const pace = Math.min(readBurstLimit(state, burstPerSecond), filled);
  return {
    ...state,
    slowedBurst: { perSecond: Math.max(1, Math.floor(pace / 2)), untilMs: now + SLOWED_BURST_MS },
  };
}

/** Keeps a request that was settled at `now` in the burst window until its arrival is surely more than a second ago. */
export function fillBurstSlot(busy: readonly CountAt[], now: number): readonly CountAt[] {
  const untilMs = now + FILLS_MS;
  return shorten(insertCount(busy, [untilMs, 1]));
}

/** All slots that are filled in two lists. */
export function joinBusySlots(busy: readonly CountAt[], others: readonly CountAt[]): readonly CountAt[] {
  return shorten(others.reduce(insertCount, busy));
}

function shorten(list: readonly CountAt[]): readonly CountAt[] {
  return list.length <= LONGEST_LIST ? list : coarsen(list);
}

/** Forgets the slots that are free at `now`. */
export function dropFreeSlots(busy: readonly CountAt[], now: number): readonly CountAt[] {
  const firstBusy = busy.findIndex(([untilMs]) => untilMs > now);
  if (firstBusy === 0) return busy;
  return firstBusy === -1 ? [] : busy.slice(firstBusy);
}

function insertCount(list: readonly CountAt[], [at, count]: CountAt): readonly CountAt[] {
  const index = list.findLastIndex(([other]) => other <= at);
  const found = list[index];
  if (found !== undefined && found[0] === at) return list.with(index, [at, found[1] + count]);
  return list.toSpliced(index + 1, 0, [at, count]);
}

// Rounding up keeps a slot filled for longer, never for less.
function coarsen(list: readonly CountAt[]): readonly CountAt[] {
  const counts = new Map<number, number>();
  for (const [at, count] of list) {
    const roundedAt = Math.ceil(at / COARSE_MS) * COARSE_MS;
    counts.set(roundedAt, (counts.get(roundedAt) ?? 0) + count);
  }
  return [...counts];
}
