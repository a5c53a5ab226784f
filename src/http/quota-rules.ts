import type {
  QuotaLimits,
  QuotaSnapshot,
  QuotaState,
  Reservation,
  WaitReason,
  WindowObservation,
} from '../model/quota.ts';
import { fillBurstSlot, readBurstLimit, readBurstWait, slowBurst } from './quota-burst.ts';
import { countSend, readOwnBudget, readOwnCountWait, uncountSend } from './quota-own-count.ts';
import { tidyState } from './quota-tidy.ts';
import { findLongestWait, type QuotaWait, waitForAnswer } from './quota-wait.ts';
import {
  addUnaccounted,
  countSpare,
  type EndedRequest,
  learnWindow,
  RESET_SLACK_MS,
} from './quota-window.ts';
import { computeRateLimitPause } from './retry-delay.ts';

/** Spacing of the single requests that look for a new window when Remaining is 0 and Reset unusable, ms. */
export const BLIND_PROBE_MS = 60_000;

/** A 429 that passes this soon while the hour still has requests left is the burst limit's, ms. */
export const LONGEST_BURST_PAUSE_MS = 10_000;

/** Whether a request may leave now. `impossible` means never: config leaves no request of the hour. */
export type Decision =
  | { readonly kind: 'granted' }
  | ({ readonly kind: 'wait' } & QuotaWait)
  | { readonly kind: 'impossible'; readonly limit: number };

/** How a reserved request ended. */
export type SlotOutcome =
  /** An answer of any status but 429. */
  | { readonly kind: 'answered'; readonly observation: WindowObservation }
  /** A 429; `hintMs` is the longer of Retry-After and the body's retryAfter, `random` in [0, 1). */
  | {
      readonly kind: 'rate-limited';
      readonly observation: WindowObservation;
      readonly hintMs: number | undefined;
      readonly random: number;
    }
  /** No answer, though the server may have counted the request. */
  | { readonly kind: 'failed' }
  /** Surely nothing of the request reached the server. */
  | { readonly kind: 'unsent' };

/** Invariant 5: no request leaves without a slot. Reserves one at `now` (epoch ms), or tells what to wait for. */
export function reserveSlot(
  before: QuotaState,
  request: {
    readonly now: number;
    readonly limits: QuotaLimits;
    readonly id: string;
    /** What the wall clock is ahead of the machine's own one, ms. */
    readonly offsetMs?: number;
  },
): { readonly state: QuotaState; readonly decision: Decision } {
  const { limits, id, offsetMs } = request;
  const state = tidyState(before, request.now, request.limits.windowMs);
  const now = state.lastUsedAtMs;
  const capacity = readCapacity(state, limits);
  if (capacity !== undefined && capacity <= 0) {
    return { state, decision: { kind: 'impossible', limit: capacity + limits.reserve } };
  }
  const wait = findLongestWait([
    readDeferral(state, now),
    readHourlyWait(state, limits, { now, id }),
    readBurstWait(state, now, readBurstLimit(state, limits.burstPerSecond)),
  ]);
  if (wait !== undefined) return { state, decision: { kind: 'wait', ...wait } };
  const reserved = {
    ...state,
    inFlight: [...state.inFlight, { id, sentAtMs: now, ...(offsetMs !== undefined && { offsetMs }) }],
    sendsByMinute: countSend(state.sendsByMinute, now),
  };
  return { state: reserved, decision: { kind: 'granted' } };
}

/** Ends a reservation and learns from its answer. */
export function settleSlot(
  before: QuotaState,
  settled: {
    readonly id: string;
    readonly now: number;
    readonly limits: QuotaLimits;
    readonly outcome: SlotOutcome;
  },
): QuotaState {
  const tidy = tidyState(before, settled.now, settled.limits.windowMs);
  const now = tidy.lastUsedAtMs;
  const slot = tidy.inFlight.find((other) => other.id === settled.id);
  const state = { ...tidy, inFlight: tidy.inFlight.filter((other) => other !== slot) };
  const { outcome, limits } = settled;
  const ended = { slot, now };
  switch (outcome.kind) {
    case 'unsent':
      if (slot === undefined) return state;
      return { ...state, sendsByMinute: uncountSend(state.sendsByMinute, slot.sentAtMs) };
    case 'failed':
      if (slot === undefined) return state;
      return {
        ...fillBurst(state, now),
        unaccounted: addUnaccounted(state.unaccounted, 1, now),
      };
    case 'answered': {
      const filled = fillBurst(state, now);
      const learned = learnWindow(state, ended, outcome.observation, limits);
      return {
        ...filled,
        ...learned,
        consecutive429s: isOfLastRound(state, slot) ? state.consecutive429s : 0,
      };
    }
    case 'rate-limited': {
      const learned = learnWindow(state, ended, outcome.observation, limits);
      const filled = { ...fillBurst(state, now), ...learned };
      return pauseAfter429(filled, ended, outcome, limits.burstPerSecond);
    }
  }
}

/** Lets no request of the key leave before `untilMs`; a longer deferral that exists stays. */
export function deferUntil(
  state: QuotaState,
  deferral: { readonly now: number; readonly untilMs: number; readonly reason: WaitReason },
): QuotaState {
  const { now, untilMs, reason } = deferral;
  const longer = state.notBefore !== undefined && state.notBefore.atMs >= untilMs;
  const notBefore = longer
    ? { ...state.notBefore, recordedAtMs: now }
    : { atMs: untilMs, recordedAtMs: now, reason };
  return { ...state, notBefore };
}

/** What a caller may know; of a state that `tidyState` has brought up to now. */
export function readSnapshot(state: QuotaState): QuotaSnapshot {
  const { window, notBefore } = state;
  return {
    limit: window?.limit ?? state.knownLimit,
    remaining: window && Math.max(0, window.remaining - (state.unaccounted?.count ?? 0)),
    resetAtMs: window?.resetAtMs,
    notBeforeMs: notBefore !== undefined && notBefore.atMs > state.lastUsedAtMs ? notBefore.atMs : undefined,
  };
}

/** Requests per hour that config leaves for us; undefined while the limit is not known. */
function readCapacity(state: QuotaState, limits: QuotaLimits): number | undefined {
  const { ceilingPerWindow: ceiling, defaultPerWindow } = limits;
  // A limit of an earlier window does not count: plans change, and only asking again can tell.
  const limit =
    state.window?.limit ?? (state.headersMissing ? (state.knownLimit ?? defaultPerWindow) : undefined);
  if (limit === undefined && ceiling === undefined) return undefined;
  return Math.min(limit ?? Infinity, ceiling ?? Infinity) - limits.reserve;
}

function readDeferral(state: QuotaState, now: number): QuotaWait | undefined {
  const { notBefore } = state;
  if (notBefore === undefined || notBefore.atMs <= now) return undefined;
  return { untilMs: notBefore.atMs, reason: notBefore.reason, endsBy: 'time' };
}

function readHourlyWait(
  state: QuotaState,
  limits: QuotaLimits,
  { now, id }: { readonly now: number; readonly id: string },
): QuotaWait | undefined {
  const { window, partial, inFlight } = state;
  const flying = inFlight.length;
  // After a 429 one request goes alone: were the pause too short, one more 429 is enough to learn it.
  if (state.consecutive429s > 0 && flying > 0) return waitForAnswer(inFlight, now, id);
  if (window !== undefined) {
    const spare = countSpare(state, window, limits);
    if (spare > flying) return window.limit === undefined ? readCeilingWait(state, limits) : undefined;
    if (spare > 0) return waitForAnswer(inFlight, now, id);
    return { untilMs: window.resetAtMs + RESET_SLACK_MS, reason: 'hourly-quota', endsBy: 'time' };
  }
  // Before the first answer of a window nobody knows what it holds: one request goes and asks.
  if (!state.headersMissing && flying > 0) return waitForAnswer(inFlight, now, id);
  // The own count holds while headers are missing, and when whole budgets of lost requests told nothing.
  const lost = state.unaccounted?.count ?? 0;
  if (!state.headersMissing && lost < readOwnBudget(state, limits)) return undefined;
  const ownWait = readOwnCountWait(state, limits);
  if (ownWait !== undefined || partial === undefined) return ownWait;
  const spare = partial.remaining - lost - limits.reserve;
  if (spare > flying) return undefined;
  if (flying > 0) return waitForAnswer(inFlight, now, id);
  const untilMs =
    partial.resetAtMs === undefined ? partial.seenAtMs + BLIND_PROBE_MS : partial.resetAtMs + RESET_SLACK_MS;
  return untilMs <= now ? undefined : { untilMs, reason: 'hourly-quota', endsBy: 'time' };
}

/** Without a limit nobody knows what others used of the window: a ceiling then is over what was sent from here. */
function readCeilingWait(state: QuotaState, limits: QuotaLimits): QuotaWait | undefined {
  const { ceilingPerWindow: ceiling } = limits;
  if (ceiling === undefined) return undefined;
  return readOwnCountWait({ ...state, knownLimit: ceiling }, limits);
}

function fillBurst(state: QuotaState, now: number): QuotaState {
  return { ...state, burstBusy: fillBurstSlot(state.burstBusy, now) };
}

/** Whether the request was sent before the latest 429 was known: its answer tells nothing about the pause. */
function isOfLastRound(state: QuotaState, slot: Reservation | undefined): boolean {
  return (
    state.notBefore !== undefined && (slot === undefined || slot.sentAtMs <= state.notBefore.recordedAtMs)
  );
}

function pauseAfter429(
  state: QuotaState,
  { slot, now }: EndedRequest,
  outcome: Extract<SlotOutcome, { kind: 'rate-limited' }>,
  burstPerSecond: number,
): QuotaState {
  const { remaining, resetAtMs } = outcome.observation;
  const sameRound = isOfLastRound(state, slot);
  const resetMs = resetAtMs ?? state.window?.resetAtMs;
  const repeats = sameRound ? Math.max(0, state.consecutive429s - 1) : state.consecutive429s;
  const pauseMs = computeRateLimitPause({
    hintMs: outcome.hintMs,
    remaining,
    untilResetMs: resetMs === undefined ? undefined : resetMs + RESET_SLACK_MS - now,
    repeats,
    random: outcome.random,
  });
  const isBurst = remaining !== undefined && remaining > 0 && pauseMs <= LONGEST_BURST_PAUSE_MS;
  const reason = isBurst ? 'burst' : 'rate-limited';
  // The 429s of one burst come together: only the first of them says something new about the pace.
  const paced = isBurst && !sameRound ? slowBurst(state, now, burstPerSecond) : state;
  const deferred = deferUntil(paced, { now, untilMs: now + pauseMs, reason });
  return { ...deferred, consecutive429s: repeats + 1 };
}
