import type { QuotaState, Reservation } from '../model/quota.ts';
import { RESERVATION_LIFETIME_MS } from './deadlines.ts';
import { dropFreeSlots, fillBurstSlot } from './quota-burst.ts';
import { dropOldSends, moveSends } from './quota-own-count.ts';
import { addUnaccounted, RESET_SLACK_MS } from './quota-window.ts';

// Smaller steps back (a correction, processes a little apart) hold the time still instead.
const SMALLEST_STEP_BACK_MS = 2_000;

// Two clocks are never read at once; less than the margin of the burst rule does no harm.
const TOLERATED_MS = 10;

/**
 * Brings a state up to `now`: moves it when the clock was set back, expires the reservations of dead
 * processes, forgets what is over. The time to reckon with is the result's `lastUsedAtMs`.
 */
export function tidyState(before: QuotaState, now: number, windowMs: number): QuotaState {
  const state = followStepBack(before, now);
  const time = Math.max(now, state.lastUsedAtMs);
  const alive = state.inFlight.filter((slot) => slot.sentAtMs + RESERVATION_LIFETIME_MS > time);
  const expiredCount = state.inFlight.length - alive.length;
  const { window, partial, notBefore, slowedBurst } = state;
  const deferralOver = notBefore === undefined || notBefore.atMs + windowMs <= time;
  return {
    ...state,
    lastUsedAtMs: time,
    window: window !== undefined && time < window.resetAtMs + RESET_SLACK_MS ? window : undefined,
    partial: partial !== undefined && time < endOfPartial(partial, windowMs) ? partial : undefined,
    // A deferral that is over still tells which 429s belong to one round.
    notBefore: deferralOver ? undefined : notBefore,
    consecutive429s: deferralOver ? 0 : state.consecutive429s,
    inFlight: expiredCount === 0 ? state.inFlight : alive,
    unaccounted: addUnaccounted(state.unaccounted, expiredCount, time),
    burstBusy: dropFreeSlots(state.burstBusy, time),
    slowedBurst: slowedBurst !== undefined && time < slowedBurst.untilMs ? slowedBurst : undefined,
    sendsByMinute: dropOldSends(state.sendsByMinute, time, windowMs),
  };
}

/** Moves a state whose last use is later than `now` (epoch ms): the clock was set back since. */
export function followStepBack(state: QuotaState, now: number): QuotaState {
  const backMs = state.lastUsedAtMs - now;
  return backMs > SMALLEST_STEP_BACK_MS ? moveTimes(state, -backMs) : state;
}

/** Expires the reservations that `isDead` knows to belong to processes that are gone. */
export function forgetDeadReservations(
  before: QuotaState,
  { nowMs, windowMs }: { readonly nowMs: number; readonly windowMs: number },
  isDead: (id: string) => boolean,
): QuotaState {
  const state = tidyState(before, nowMs, windowMs);
  const now = state.lastUsedAtMs;
  const alive = state.inFlight.filter((slot) => !isDead(slot.id));
  const deadCount = state.inFlight.length - alive.length;
  if (deadCount === 0) return state;
  let { burstBusy } = state;
  for (let i = 0; i < deadCount; i++) burstBusy = fillBurstSlot(burstBusy, now);
  return {
    ...state,
    inFlight: alive,
    burstBusy,
    unaccounted: addUnaccounted(state.unaccounted, deadCount, now),
  };
}

function endOfPartial(partial: NonNullable<QuotaState['partial']>, windowMs: number): number {
  return partial.resetAtMs === undefined ? partial.seenAtMs + windowMs : partial.resetAtMs + RESET_SLACK_MS;
}

/**
 * Moves a state with a wall clock that this process saw being set by `stepMs` since it last used the state,
 * which was then moved by `seenMovedMs` in all. The first process moves it: for the others it then is where
 * they expect it. It is moved back only when surely nobody used it since: late is safe, early is not.
 */
export function followClock(
  state: QuotaState,
  step: { readonly now: number; readonly stepMs: number; readonly seenMovedMs: number },
): QuotaState {
  // The clock of the steps counts parts of milliseconds; times here are whole.
  const missingMs = Math.round(step.seenMovedMs + step.stepMs - state.movedMs);
  if (missingMs > TOLERATED_MS) return moveTimes(state, missingMs);
  const isUnused = step.now < state.lastUsedAtMs;
  if (isUnused && step.stepMs < -TOLERATED_MS && missingMs < -TOLERATED_MS) {
    return moveTimes(state, missingMs);
  }
  return state;
}

/**
 * Moves a state forward where the wall clock was set before this process started. Others that run may not have moved it
 * yet: one with a request on its way changes nothing until the answer comes. Its reservation tells how far the clock was
 * set, if its owner `isHere`: on this machine, and running.
 */
export function followStepBefore(
  state: QuotaState,
  { now, offsetMs }: { readonly now: number; readonly offsetMs: number },
  isHere: (id: string) => boolean,
): QuotaState {
  const stepsMs = state.inFlight
    .map((slot) => ({ ...slot, stepMs: offsetMs - (slot.offsetMs ?? offsetMs) }))
    .filter((slot) => slot.stepMs > TOLERATED_MS && mayBeOnItsWay(slot, now - slot.stepMs) && isHere(slot.id))
    .map(({ stepMs }) => stepMs);
  return stepsMs.length === 0 ? state : moveTimes(state, Math.max(...stepsMs));
}

/** False where a process of the same id left the reservation, before the machine started or long ago. */
function mayBeOnItsWay({ sentAtMs }: Reservation, now: number): boolean {
  return sentAtMs < now + SMALLEST_STEP_BACK_MS && now < sentAtMs + RESERVATION_LIFETIME_MS;
}

/**
 * Moves every time with a clock that was set, or to another machine's clock, and adds the move to `movedMs`. Each wait
 * keeps what is left of it: nothing is waited for twice, and nothing becomes due before its time. A move by whole
 * milliseconds and the move back give the same state again.
 */
export function moveTimes(state: QuotaState, byMs: number): QuotaState {
  const { window, partial, notBefore, unaccounted, slowedBurst } = state;
  return {
    ...state,
    // A state that was never used has no time to move.
    lastUsedAtMs: state.lastUsedAtMs === 0 ? 0 : state.lastUsedAtMs + byMs,
    movedMs: state.movedMs + byMs,
    window: window && {
      ...window,
      resetAtMs: window.resetAtMs + byMs,
      seenAtMs: window.seenAtMs + byMs,
    },
    partial: partial && {
      ...partial,
      resetAtMs: partial.resetAtMs === undefined ? undefined : partial.resetAtMs + byMs,
      seenAtMs: partial.seenAtMs + byMs,
    },
    notBefore: notBefore && {
      ...notBefore,
      atMs: notBefore.atMs + byMs,
      recordedAtMs: notBefore.recordedAtMs + byMs,
    },
    inFlight: state.inFlight.map((slot) => moveReservation(slot, byMs)),
    unaccounted: unaccounted && { ...unaccounted, lastAtMs: unaccounted.lastAtMs + byMs },
    slowedBurst: slowedBurst && { ...slowedBurst, untilMs: slowedBurst.untilMs + byMs },
    burstBusy: state.burstBusy.map(([untilMs, count]) => [untilMs + byMs, count]),
    sendsByMinute: moveSends(state.sendsByMinute, byMs),
  };
}

function moveReservation(slot: Reservation, byMs: number): Reservation {
  const { sentAtMs, offsetMs } = slot;
  const moved = { ...slot, sentAtMs: sentAtMs + byMs };
  return offsetMs === undefined ? moved : { ...moved, offsetMs: offsetMs + byMs };
}
