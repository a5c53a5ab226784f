import type { Clock } from '../model/clock.ts';
import {
  initialQuotaState,
  type QuotaLimits,
  type QuotaRoom,
  type QuotaSnapshot,
  type QuotaState,
  type QuotaStore,
} from '../model/quota.ts';
import { isOwnerGone, isOwnerHere } from './quota-owner.ts';
import { type Decision, readSnapshot, reserveSlot, settleSlot, type SlotOutcome } from './quota-rules.ts';
import { followClock, followStepBefore, forgetDeadReservations, tidyState } from './quota-tidy.ts';
import { readRoom } from './quota-window.ts';

// A busy process reserves its next slots before these have passed, and one update does for both.
const FLUSH_AFTER_TURNS = 3;

/** What reserving slots for some requests came to. */
export interface Reserved {
  readonly decision: Decision;
  /** How many of the others have a slot as well. */
  readonly ahead: number;
}

/** The wall time, and how far the wall clock was set forward (or back) since it was read last, ms. */
interface WatchedTime {
  readonly now: number;
  readonly stepMs: number;
}

interface EndedSlot {
  readonly id: string;
  readonly outcome: SlotOutcome;
  /** Wall clock less the one that nobody can set, when the outcome was told. */
  readonly offsetMs: number;
}

type TimedChange<T> = (state: QuotaState, now: number) => { readonly state: QuotaState; readonly result: T };

/**
 * The shared state as one process uses it: makes its changes one after the other, in the order they were asked for,
 * reads the time in that order, follows the wall clock when it is set, and writes the ends of slots together
 * with the next change.
 */
export class SharedQuotaState {
  readonly #store: QuotaStore;
  readonly #limits: QuotaLimits;
  readonly #onObserved: ((snapshot: QuotaSnapshot) => void) | undefined;
  readonly #clock: Clock;
  /** Watches the clock from this process's first change on. */
  #readTime: (() => WatchedTime) | undefined;
  /** The state as this process changed it last. */
  #seen = initialQuotaState();
  /** Ends of slots that no change has written yet. */
  #ended: readonly EndedSlot[] = [];
  /** Resolves when the changes asked for so far have been made, or have failed. */
  #made: Promise<unknown> = Promise.resolve();

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
  }

  /** Reserves a slot for the first of some requests, and in the same update for as many of the others as may leave. */
  async reserve([first, ...others]: readonly [string, ...string[]]): Promise<Reserved> {
    let offsetMs = 0;
    const reserved = await this.#update((before, now) => {
      offsetMs = readOffset(this.#clock);
      const request = { now, limits: this.#limits, offsetMs: Math.round(offsetMs) };
      const { decision, ...reserved } = reserveFirst(before, { ...request, id: first });
      let { state } = reserved;
      let ahead = 0;
      for (const id of decision.kind === 'granted' ? others : []) {
        const next = reserveSlot(state, { ...request, id });
        if (next.decision.kind !== 'granted') break;
        ({ state } = next);
        ahead += 1;
      }
      return { state, result: { decision, ahead } };
    });
    const { decision } = reserved;
    if (decision.kind !== 'wait') return reserved;
    // The clock may be set between the decision and its way back: the wait keeps its length.
    const movedMs = Math.round(readOffset(this.#clock) - offsetMs);
    const { untilMs, latestMs } = decision;
    const latest = latestMs === undefined ? {} : { latestMs: latestMs + movedMs };
    return { ...reserved, decision: { ...decision, untilMs: untilMs + movedMs, ...latest } };
  }

  /**
   * Settles a slot within a few turns of the event loop. The next request's reservation mostly comes first and
   * saves an update; a kill before either leaves the slot reserved, which is the safe side.
   */
  settle(id: string, outcome: SlotOutcome): void {
    const ended = { id, outcome, offsetMs: readOffset(this.#clock) };
    if (this.#ended.length === 0) this.#flushLater(ended, FLUSH_AFTER_TURNS);
    this.#ended = [...this.#ended, ended];
  }

  #flushLater(ended: EndedSlot, turns: number): void {
    setImmediate(() => {
      // Another change has written it.
      if (this.#ended[0] !== ended) return;
      if (turns > 1) this.#flushLater(ended, turns - 1);
      // What could not be written is kept: the next change writes it, or says why not.
      else void this.flush().catch(() => undefined);
    });
  }

  /** Writes the ends of slots that no change has written yet; resolves when every change has been made. */
  flush(): Promise<void> {
    return this.#inOrder(async () => {
      if (this.#ended.length > 0) await this.#change((state) => ({ state, result: undefined }));
    });
  }

  /** Marks the state as used now, so that a clock that is set back later is noticed to this moment. */
  touch(): Promise<void> {
    return this.#update((state, now) => ({
      state: tidyState(state, now, this.#limits.windowMs),
      result: undefined,
    }));
  }

  /** What is known now, to every process that shares the state. */
  snapshot(): Promise<QuotaSnapshot> {
    return this.#update((before, now) => {
      const state = tidyState(before, now, this.#limits.windowMs);
      return { state, result: readSnapshot(state) };
    });
  }

  /** What this process knew last, with the answers that came since. */
  seen(): QuotaSnapshot {
    const state = this.#settle(this.#seen, this.#clock.now(), this.#ended);
    return readSnapshot(tidyState(state, this.#clock.now(), this.#limits.windowMs));
  }

  /** What the quota still has room for; undefined while nothing is known of it. */
  room(): Promise<QuotaRoom | undefined> {
    return this.#update((before, now) => {
      const state = tidyState(before, now, this.#limits.windowMs);
      return { state, result: readRoom(state, this.#limits) };
    });
  }

  #update<T>(change: TimedChange<T>): Promise<T> {
    return this.#inOrder(() => this.#change(change));
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#made.then(work);
    this.#made = done.catch(() => undefined);
    return done;
  }

  async #change<T>(change: TimedChange<T>): Promise<T> {
    let ended: readonly EndedSlot[] = [];
    let changed;
    try {
      changed = await this.#store.update((before) => {
        const { state: current, now } = this.#follow(before);
        const { state, result } = change(this.#settle(current, now, this.#ended), now);
        ended = this.#ended;
        this.#ended = [];
        this.#seen = state;
        return { state, result: { state, result } };
      });
    } catch (error) {
      this.#ended = [...ended, ...this.#ended];
      throw error;
    }
    if (ended.some(({ outcome }) => 'observation' in outcome))
      this.#onObserved?.(readSnapshot(changed.state));
    return changed.result;
  }

  /**
   * Brings the state up to the clock. The first change also follows a step of the clock that was made before it, and
   * forgets what processes that are gone reserved.
   */
  #follow(before: QuotaState): { readonly state: QuotaState; readonly now: number } {
    let state = before;
    if (this.#readTime === undefined) {
      const at = { nowMs: this.#clock.now(), windowMs: this.#limits.windowMs };
      const step = { now: at.nowMs, offsetMs: Math.round(readOffset(this.#clock)) };
      this.#readTime = createClockWatch(this.#clock);
      state = followStepBefore(before, step, isOwnerHere);
      state = this.#seen = forgetDeadReservations(state, at, isOwnerGone);
    }
    const { now, stepMs } = this.#readTime();
    return { state: followClock(state, { now, stepMs, seenMovedMs: this.#seen.movedMs }), now };
  }

  #settle(before: QuotaState, now: number, ended: readonly EndedSlot[]): QuotaState {
    const offsetMs = readOffset(this.#clock);
    return ended.reduce((state, slot) => {
      const outcome = moveOutcome(slot.outcome, Math.round(offsetMs - slot.offsetMs));
      return settleSlot(state, { id: slot.id, now, limits: this.#limits, outcome });
    }, before);
  }
}

/** Reserves a slot. Those whose answers it would wait for may be of a process that was killed since they were looked at. */
function reserveFirst(
  before: QuotaState,
  request: Parameters<typeof reserveSlot>[1],
): ReturnType<typeof reserveSlot> {
  const reserved = reserveSlot(before, request);
  const { decision, state } = reserved;
  if (decision.kind !== 'wait' || decision.endsBy !== 'answer-or-time') return reserved;
  const at = { nowMs: request.now, windowMs: request.limits.windowMs };
  const alive = forgetDeadReservations(state, at, isOwnerGone);
  return alive.inFlight.length === state.inFlight.length ? reserved : reserveSlot(alive, request);
}

/** Compares the wall clock with the one that nobody can set. A machine that was suspended looks the same. */
function createClockWatch(clock: Clock): () => WatchedTime {
  let lastOffsetMs = readOffset(clock);
  return function readTime() {
    const now = clock.now();
    const offsetMs = now - clock.monotonic();
    const stepMs = offsetMs - lastOffsetMs;
    lastOffsetMs = offsetMs;
    return { now, stepMs };
  };
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
