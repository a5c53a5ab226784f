import type { PartialWindow, QuotaState, Reservation } from '../model/quota.ts';
import { joinBusySlots } from './quota-burst.ts';
import { joinSends } from './quota-own-count.ts';
import { findLower, joinWindows } from './quota-window.ts';

/** What became of one state in two places that did not see each other; all times are of one clock. */
export interface PartedStates {
  /** What both came from. */
  readonly base: QuotaState;
  /** What the others made of it. */
  readonly shared: QuotaState;
  /** What this process made of it. */
  readonly own: QuotaState;
  /** Reservations of this process that may have reached `shared`. */
  readonly reserved: ReadonlySet<string>;
}

/**
 * Joins two states of one key, by the stricter of both. Nothing has to be asked again: each answer of the server told what
 * the requests of all had used, so the lowest Remaining is what both together would have known.
 */
export function joinQuotaStates(parted: PartedStates): QuotaState {
  const { shared, own, base } = parted;
  const { notBefore } = shared;
  const window = joinWindows(shared.window, own.window);
  return {
    ...shared,
    lastUsedAtMs: Math.max(shared.lastUsedAtMs, own.lastUsedAtMs),
    window,
    partial: window === undefined ? joinPartials(shared.partial, own.partial) : undefined,
    // False lets one request go alone and ask.
    headersMissing: shared.headersMissing && own.headersMissing,
    knownLimit: findLower(shared.knownLimit, own.knownLimit),
    notBefore: own.notBefore && own.notBefore.atMs > (notBefore?.atMs ?? 0) ? own.notBefore : notBefore,
    consecutive429s: Math.max(shared.consecutive429s, own.consecutive429s),
    inFlight: joinReservations(parted),
    unaccounted: joinUnaccounted(parted),
    burstBusy: joinBusySlots(shared.burstBusy, own.burstBusy),
    slowedBurst: joinSlowed(shared.slowedBurst, own.slowedBurst),
    sendsByMinute: joinSends(shared.sendsByMinute, { own: own.sendsByMinute, base: base.sendsByMinute }),
  };
}

/** Without what this process has settled meanwhile, with what it has reserved; what others settled stays settled. */
function joinReservations({ shared, own, base, reserved }: PartedStates): readonly Reservation[] {
  const [inShared, inOwn, inBase] = [shared, own, base].map(
    ({ inFlight }) => new Set(inFlight.map(({ id }) => id)),
  ) as [Set<string>, Set<string>, Set<string>];
  const isSettled = (id: string) => !inOwn.has(id) && (inBase.has(id) || reserved.has(id));
  return [
    ...shared.inFlight.filter(({ id }) => !isSettled(id)),
    ...own.inFlight.filter(({ id }) => !inShared.has(id) && !inBase.has(id)),
  ];
}

/** The one that changed; both were they changed in both. */
function joinUnaccounted({ shared, own, base }: PartedStates): QuotaState['unaccounted'] {
  const isAsBefore = (other: QuotaState) =>
    other.unaccounted?.count === base.unaccounted?.count &&
    other.unaccounted?.lastAtMs === base.unaccounted?.lastAtMs;
  if (isAsBefore(own)) return shared.unaccounted;
  if (isAsBefore(shared) || shared.unaccounted === undefined) return own.unaccounted;
  if (own.unaccounted === undefined) return shared.unaccounted;
  return {
    count: shared.unaccounted.count + own.unaccounted.count,
    lastAtMs: Math.max(shared.unaccounted.lastAtMs, own.unaccounted.lastAtMs),
  };
}

function joinPartials(
  one: PartialWindow | undefined,
  other: PartialWindow | undefined,
): PartialWindow | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one.remaining <= other.remaining ? one : other;
}

function joinSlowed(
  one: QuotaState['slowedBurst'],
  other: QuotaState['slowedBurst'],
): QuotaState['slowedBurst'] {
  if (one === undefined || other === undefined) return one ?? other;
  return {
    perSecond: Math.min(one.perSecond, other.perSecond),
    untilMs: Math.max(one.untilMs, other.untilMs),
  };
}
