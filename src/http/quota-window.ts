import type {
  QuotaLimits,
  QuotaRoom,
  QuotaState,
  QuotaWindow,
  Reservation,
  WindowObservation,
} from '../model/quota.ts';
import { readOwnBudget, readOwnReturn } from './quota-own-count.ts';

/** Observations whose resets differ by no more than this are of one window, ms. */
const SAME_WINDOW_MS = 5_000;

/** Room after the reset, ms: a server may have cut up to a second off its Reset header, and clocks drift apart. */
export const RESET_SLACK_MS = 1_500;

/** The parts of the state that responses teach. */
type Learned = Pick<QuotaState, 'window' | 'partial' | 'headersMissing' | 'knownLimit' | 'unaccounted'>;

/** A request whose response came. */
export interface EndedRequest {
  /** undefined when its reservation had expired. */
  readonly slot: Reservation | undefined;
  /** When the response came, as epoch ms. */
  readonly now: number;
}

/**
 * What the response to a request teaches.
 *
 * Let S be the server's own count of what remains, and `free` the requests of ours that it has not counted
 * yet. The rules keep `window.remaining - unaccounted - in flight <= S - free`: among the answers of one
 * window the one counted last has the lowest Remaining, and whatever was counted after it is still in flight
 * or in `unaccounted`, which is dropped only by an answer to a request sent after it.
 */
export function learnWindow(
  state: QuotaState,
  ended: EndedRequest,
  observed: WindowObservation,
  { defaultPerWindow, windowMs }: QuotaLimits,
): Learned {
  const { slot, now } = ended;
  const unaccounted = observed.remaining === undefined ? state.unaccounted : forgetAccounted(state, slot);
  if (isWhole(observed)) {
    const window = mergeWindow(state.window, observed, ended, windowMs);
    const knownLimit = window.limit ?? state.knownLimit;
    return { window, partial: undefined, headersMissing: false, knownLimit, unaccounted };
  }
  const knownLimit =
    observed.limit === undefined
      ? state.knownLimit
      : Math.min(state.knownLimit ?? defaultPerWindow, observed.limit);
  if (state.window !== undefined) {
    const { remaining = Infinity } = observed;
    const window = {
      ...state.window,
      limit: findLower(state.window.limit, observed.limit),
      remaining: Math.min(state.window.remaining, remaining),
    };
    const learned = { window, partial: undefined, headersMissing: false, knownLimit };
    if (observed.remaining !== undefined) return { ...learned, unaccounted };
    return { ...learned, unaccounted: addUnaccounted(unaccounted, 1, now) };
  }
  return { ...learnPartial(state, ended, observed, unaccounted), knownLimit };
}

/** What two know of the window: of the same one the lowest Remaining counts all requests that were answered. */
export function joinWindows(
  one: QuotaWindow | undefined,
  other: QuotaWindow | undefined,
): QuotaWindow | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const laterByMs = one.resetAtMs - other.resetAtMs;
  if (Math.abs(laterByMs) > SAME_WINDOW_MS) return laterByMs > 0 ? one : other;
  return {
    limit: findLower(one.limit, other.limit),
    remaining: Math.min(one.remaining, other.remaining),
    resetAtMs: Math.min(one.resetAtMs, other.resetAtMs),
    seenAtMs: Math.max(one.seenAtMs, other.seenAtMs),
  };
}

/** Adds requests whose fate the server has not told. */
export function addUnaccounted(
  unaccounted: QuotaState['unaccounted'],
  count: number,
  now: number,
): QuotaState['unaccounted'] {
  return count === 0 ? unaccounted : { count: (unaccounted?.count ?? 0) + count, lastAtMs: now };
}

/**
 * How many requests the known window still gives, before those in flight are taken off. A ceiling is held
 * against everything used in the window, also by others: that is what the server tells.
 */
export function countSpare(state: QuotaState, window: QuotaWindow, limits: QuotaLimits): number {
  const { limit = window.remaining } = window;
  const used = Math.max(0, limit - window.remaining);
  const ceiling = limits.ceilingPerWindow ?? Infinity;
  const unaccounted = state.unaccounted?.count ?? 0;
  return Math.min(window.remaining, limit, ceiling - used) - unaccounted - limits.reserve;
}

/**
 * How many requests may leave before one has to wait for the quota, and when that wait ends; of a state that
 * `tidyState` has brought up to now. Counts what `reserveSlot` counts: ceiling, reserve and requests in flight.
 */
export function readRoom(state: QuotaState, limits: QuotaLimits): QuotaRoom | undefined {
  const { window, partial, inFlight, headersMissing } = state;
  if (window !== undefined) {
    const spare = countSpare(state, window, limits) - inFlight.length;
    const ceiling = window.limit === undefined ? limits.ceilingPerWindow : undefined;
    const own = ceiling === undefined ? Infinity : countOwn({ ...state, knownLimit: ceiling }, limits);
    return toRoom(Math.min(spare, own), window.resetAtMs + RESET_SLACK_MS);
  }
  if (!headersMissing) return undefined;
  const own = toRoom(countOwn(state, limits), readOwnReturn(state.sendsByMinute, limits.windowMs));
  if (partial === undefined) return own;
  const lost = state.unaccounted?.count ?? 0;
  const told = partial.remaining - lost - limits.reserve - inFlight.length;
  if (told >= own.requests) return own;
  return toRoom(told, partial.resetAtMs && partial.resetAtMs + RESET_SLACK_MS);
}

function countOwn(state: QuotaState, limits: QuotaLimits): number {
  return state.sendsByMinute.reduce((left, [, count]) => left - count, readOwnBudget(state, limits));
}

function toRoom(requests: number, returnsAtMs: number | undefined): QuotaRoom {
  return { requests: Math.max(0, requests), returnsAtMs };
}

function isWhole(observed: WindowObservation): observed is WindowObservation & Countdown {
  return observed.remaining !== undefined && observed.resetAtMs !== undefined;
}

/** What a window needs to be one: what is left, and until when. */
interface Countdown {
  readonly remaining: number;
  readonly resetAtMs: number;
}

/** The lower of two limits; the one that is known where the other is not. */
export function findLower(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

function forgetAccounted(state: QuotaState, slot: Reservation | undefined): QuotaState['unaccounted'] {
  const { unaccounted } = state;
  const later = unaccounted !== undefined && slot !== undefined && slot.sentAtMs > unaccounted.lastAtMs;
  return later ? undefined : unaccounted;
}

function mergeWindow(
  known: QuotaWindow | undefined,
  observed: WindowObservation & Countdown,
  { slot, now }: EndedRequest,
  windowMs: number,
): QuotaWindow {
  const fresh = { ...observed, seenAtMs: now };
  if (known === undefined) return fresh;
  const laterByMs = observed.resetAtMs - known.resetAtMs;
  if (laterByMs > SAME_WINDOW_MS) {
    // A later window is believed when the known one may be over, or the server counted this request after
    // every answer we have. Otherwise clocks of several servers may disagree, and the stricter one holds.
    const mayBeOver = now >= known.resetAtMs - SAME_WINDOW_MS;
    const countedLast = slot !== undefined && slot.sentAtMs > known.seenAtMs;
    if (mayBeOver || countedLast) return fresh;
  }
  if (laterByMs < -SAME_WINDOW_MS) {
    // A late answer of the window before: its reset, known to a second plus its time on the way, is past.
    const onTheWayMs = slot === undefined ? windowMs : now - slot.sentAtMs;
    if (observed.resetAtMs <= now + 1_000 + onTheWayMs) return known;
  }
  return {
    limit: findLower(known.limit, observed.limit),
    remaining: Math.min(known.remaining, observed.remaining),
    resetAtMs: Math.min(known.resetAtMs, observed.resetAtMs),
    seenAtMs: now,
  };
}

function learnPartial(
  state: QuotaState,
  { slot, now }: EndedRequest,
  observed: WindowObservation,
  unaccounted: QuotaState['unaccounted'],
): Omit<Learned, 'knownLimit'> {
  const base = { window: undefined, headersMissing: true };
  const { remaining, resetAtMs } = observed;
  const { partial } = state;
  if (remaining === undefined) {
    return { ...base, partial, unaccounted: addUnaccounted(unaccounted, 1, now) };
  }
  const fresh = { remaining, resetAtMs, seenAtMs: now };
  const countedLast = partial === undefined || (slot !== undefined && slot.sentAtMs > partial.seenAtMs);
  if (countedLast) return { ...base, partial: fresh, unaccounted };
  return {
    ...base,
    unaccounted,
    partial: {
      ...fresh,
      remaining: Math.min(remaining, partial.remaining),
      resetAtMs: resetAtMs ?? partial.resetAtMs,
    },
  };
}
