import type { Clock } from '../model/clock.ts';
import type { QuotaLimits, QuotaRoom, QuotaSnapshot, QuotaState, QuotaStore } from '../model/quota.ts';
import { createClockWatch, type WatchedTime } from './clock-watch.ts';
import { isOwnerGone } from './quota-owner.ts';
import { readRoom } from './quota-room.ts';
import { type Decision, readSnapshot, reserveSlot, settleSlot, type SlotOutcome } from './quota-rules.ts';
import { followClock, forgetDeadReservations, tidyState } from './quota-tidy.ts';

// A busy process reserves its next slots before these have passed, and one update does for both.
const FLUSH_AFTER_TURNS = 3;

interface EndedSlot {
  readonly id: string;
  readonly outcome: SlotOutcome;
  /** Wall clock less the one that nobody can set, when the outcome was told. */
  readonly offsetMs: number;
}

/**
 * The shared state as one process uses it: reads the time in the order of the changes, follows the wall
 * clock when it is set, and writes the ends of slots together with the next change.
 */
export class SharedQuotaState {
  readonly #store: QuotaStore;
  readonly #limits: QuotaLimits;
  readonly #onObserved: ((snapshot: QuotaSnapshot) => void) | undefined;
  readonly #clock: Clock;
  readonly #readTime: () => WatchedTime;
  /** How far the state had been moved with the clock when this process used it last, ms. */
  #seenMovedMs: number;
  #ended: EndedSlot[] = [];

  constructor(options: {
    readonly store: QuotaStore;
    readonly limits: QuotaLimits;
    readonly clock: Clock;
    readonly onObserved: ((snapshot: QuotaSnapshot) => void) | undefined;
  }) {
    this.#store = options.store;
    this.#limits = options.limits;
    this.#onObserved = options.onObserved;
    this.#clock = options.clock;
    this.#readTime = createClockWatch(options.clock);
    this.#seenMovedMs = options.store.update((before) => {
      const { windowMs } = options.limits;
      const state = forgetDeadReservations(before, { nowMs: options.clock.now(), windowMs }, isOwnerGone);
      return { state, result: state.movedMs };
    });
  }

  /** Reserves a slot for the first of some requests, and in the same update for as many of the others as may leave. */
  reserve([first, ...others]: readonly [string, ...string[]]): {
    readonly decision: Decision;
    /** How many of the others have a slot as well. */
    readonly ahead: number;
  } {
    return this.#update((before, now) => {
      const limits = this.#limits;
      const { decision, ...reserved } = reserveSlot(before, { now, limits, id: first });
      let { state } = reserved;
      let ahead = 0;
      for (const id of decision.kind === 'granted' ? others : []) {
        const next = reserveSlot(state, { now, limits, id });
        if (next.decision.kind !== 'granted') break;
        ({ state } = next);
        ahead += 1;
      }
      return { state, result: { decision, ahead } };
    });
  }

  /**
   * Settles a slot within a few turns of the event loop. The next request's reservation mostly comes first and
   * saves an update; a kill before either leaves the slot reserved, which is the safe side.
   */
  settle(id: string, outcome: SlotOutcome): void {
    if (this.#ended.length === 0) this.#flushLater(this.#ended, FLUSH_AFTER_TURNS);
    this.#ended.push({ id, outcome, offsetMs: readOffset(this.#clock) });
  }

  #flushLater(ended: readonly EndedSlot[], turns: number): void {
    setImmediate(() => {
      // Another change has written them.
      if (this.#ended !== ended) return;
      if (turns > 1) this.#flushLater(ended, turns - 1);
      else this.flush();
    });
  }

  /** Writes the ends of slots that no change has written yet. */
  flush(): void {
    if (this.#ended.length > 0) this.#update((state) => ({ state, result: undefined }));
  }

  /** Marks the state as used now, so that a clock that is set back later is noticed to this moment. */
  touch(): void {
    this.#update((state, now) => ({
      state: tidyState(state, now, this.#limits.windowMs),
      result: undefined,
    }));
  }

  snapshot(): QuotaSnapshot {
    return this.#update((before, now) => {
      const state = tidyState(before, now, this.#limits.windowMs);
      return { state, result: readSnapshot(state) };
    });
  }

  /** What the quota still has room for; undefined while nothing is known of it. */
  room(): QuotaRoom | undefined {
    return this.#update((before, now) => {
      const state = tidyState(before, now, this.#limits.windowMs);
      return { state, result: readRoom(state, this.#limits) };
    });
  }

  #update<T>(
    change: (state: QuotaState, now: number) => { readonly state: QuotaState; readonly result: T },
  ): T {
    const ended = this.#ended;
    this.#ended = [];
    const limits = this.#limits;
    const { state, result } = this.#store.update((before) => {
      const { now, stepMs } = this.#readTime();
      let current = followClock(before, { now, stepMs, seenMovedMs: this.#seenMovedMs });
      const offsetMs = readOffset(this.#clock);
      for (const slot of ended) {
        const outcome = moveOutcome(slot.outcome, offsetMs - slot.offsetMs);
        current = settleSlot(current, { id: slot.id, now, limits, outcome });
      }
      const changed = change(current, now);
      return { state: changed.state, result: changed };
    });
    this.#seenMovedMs = state.movedMs;
    if (ended.some(({ outcome }) => 'observation' in outcome)) this.#onObserved?.(readSnapshot(state));
    return result;
  }
}

function readOffset(clock: Clock): number {
  return clock.now() - clock.monotonic();
}

// The clock may be set between an answer and the update that learns from it: the reset moves along.
function moveOutcome(outcome: SlotOutcome, byMs: number): SlotOutcome {
  if (byMs === 0 || !('observation' in outcome) || outcome.observation.resetAtMs === undefined)
    return outcome;
  const resetAtMs = outcome.observation.resetAtMs + byMs;
  return { ...outcome, observation: { ...outcome.observation, resetAtMs } };
}
