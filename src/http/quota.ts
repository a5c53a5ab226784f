import PQueue from 'p-queue';
import type { Clock } from '../model/clock.ts';
import type { QuotaLimits, QuotaRoom, QuotaSnapshot, QuotaStore } from '../model/quota.ts';
import { assertNotAborted, toAbortError } from '../model/abort.ts';
import {
  buildDeadlineError,
  buildNoQuotaError,
  buildQuotaExhaustedError,
  buildRequestLimitError,
} from './quota-errors.ts';
import { createOwner } from './quota-owner.ts';
import type { SlotOutcome } from './quota-rules.ts';
import type { QuotaWait } from './quota-wait.ts';
import { SharedQuotaState } from './shared-quota-state.ts';
import { createWaitReporter, type QuotaListener, type ReportedWait } from './wait-reporter.ts';

// A wait this much too short is a timer's rounding, not a wait a user would want to forbid.
const ROUNDING_MS = 10;

// While waiting, the shared state is touched this often, so that a clock set back is noticed in time.
const TOUCH_MS = 30_000;

export interface QuotaOptions {
  readonly store: QuotaStore;
  readonly limits: QuotaLimits;
  readonly clock: Clock;
  /** How long this run may wait in all for the quota and for 429s, ms; Infinity for ever. */
  readonly maxWaitMs: number;
  /** For commands that have no wait to give: they end where a run would wait, and say so. */
  readonly neverWaits?: boolean;
  /** When the run has to end, on `clock.monotonic()`. */
  readonly deadlineMs?: number;
  readonly maxRequests?: number;
  readonly listener?: QuotaListener;
  /** Names this process in the shared state; for tests. */
  readonly owner?: string;
}

/** The right to send one request; give it back with `settle`, whatever became of the request. */
export interface Slot {
  readonly id: string;
}

/**
 * The budget of one key, shared through its store with every process that uses the key. Requests are
 * admitted one after the other, in the order they came, a retry before a new one.
 */
export class Quota {
  readonly #options: QuotaOptions;
  readonly #owner: string;
  readonly #state: SharedQuotaState;
  readonly #beginWait: () => ReportedWait;
  readonly #gate = new PQueue({ concurrency: 1 });
  #wake: (() => void) | undefined;
  /** Slots reserved for requests that wait at the gate. */
  readonly #ahead: Slot[] = [];
  #lastId = 0;
  /** How many slots have ended. */
  #settled = 0;
  #spent = 0;
  #quotaWaitMs = 0;
  #otherRunWaitMs = 0;
  #retryWaitMs = 0;

  constructor(options: QuotaOptions) {
    const { listener, clock } = options;
    this.#options = options;
    this.#owner = options.owner ?? createOwner();
    this.#beginWait = createWaitReporter(clock, listener);
    this.#state = new SharedQuotaState({
      ...options,
      onObserved: listener?.onObserved && ((snapshot) => listener.onObserved?.(snapshot)),
    });
  }

  /** Time this run has waited for the quota, for other runs, for 429s and between tries, ms. */
  get waitedMs(): number {
    return this.#quotaWaitMs + this.#otherRunWaitMs + this.#retryWaitMs;
  }

  /** Time until the run's deadline, ms; undefined without one. */
  get leftMs(): number | undefined {
    const { deadlineMs, clock } = this.#options;
    return deadlineMs === undefined ? undefined : Math.max(0, deadlineMs - clock.monotonic());
  }

  /** Requests of this run that may have reached the server. */
  get spentRequests(): number {
    return this.#spent;
  }

  /**
   * Resolves when a request may leave. Throws QuotaError `quota_exhausted`, `deadline_reached` or
   * `request_limit_reached` when that would take longer than the run may, and the signal's AbortedError.
   */
  async acquire(signal?: AbortSignal, options: { readonly isRetry?: boolean } = {}): Promise<Slot> {
    assertNotAborted(signal);
    let admitted: Promise<Slot> | undefined;
    const admit = () => (admitted = this.#admit(signal));
    try {
      const priority = options.isRetry === true ? 1 : 0;
      return await this.#gate.add(admit, { priority, ...(signal && { signal }) });
    } catch (error) {
      // The gate leaves a reservation that is under way: its slot is given back when it comes.
      const slot = await admitted?.catch(() => undefined);
      if (slot !== undefined) this.settle(slot, { kind: 'unsent' });
      this.#returnSpare();
      throw signal?.aborted === true ? toAbortError(signal) : error;
    }
  }

  /** Ends a slot; its answer teaches the shared state within this turn of the event loop. */
  settle(slot: Slot, outcome: SlotOutcome): void {
    if (outcome.kind === 'unsent') this.#spent -= 1;
    this.#state.settle(slot.id, outcome);
    this.#settled += 1;
    this.#wake?.();
  }

  /** Writes what `settle` was told, and resolves once it is written; before the store is closed. */
  flush(): Promise<void> {
    this.#returnSpare();
    return this.#state.flush();
  }

  /** Waits between two tries of one request, ms; throws `deadline_reached` instead of sleeping past it. */
  async pause(ms: number, signal?: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    assertNotAborted(signal);
    this.#assertBeforeDeadline(ms, undefined);
    const startMs = clock.monotonic();
    const told = this.#beginWait();
    told.update({ reason: 'retry', untilMs: clock.now() + ms });
    try {
      await clock.sleep(ms, signal);
    } catch (error) {
      throw signal?.aborted === true ? toAbortError(signal) : error;
    } finally {
      this.#retryWaitMs += clock.monotonic() - startMs;
      told.end();
    }
  }

  /** What is known now, also from other processes. */
  snapshot(): Promise<QuotaSnapshot> {
    return this.#state.snapshot();
  }

  /** What this process knew last, without asking the store. */
  seen(): QuotaSnapshot {
    return this.#state.seen();
  }

  /** How many requests may leave before one has to wait for the quota; undefined while nothing is known. */
  room(): Promise<QuotaRoom | undefined> {
    return this.#state.room();
  }

  async #admit(signal: AbortSignal | undefined): Promise<Slot> {
    this.#assertWithinRun();
    const slot = this.#ahead.shift() ?? (await this.#reserve(signal));
    this.#spent += 1;
    this.#returnSpare();
    return slot;
  }

  /** Reserves a slot, and one for each request that waits behind: an update costs as much as sending one. */
  async #reserve(signal: AbortSignal | undefined): Promise<Slot> {
    const { limits, maxRequests = Infinity } = this.#options;
    const told = this.#beginWait();
    // Those that became free in this turn of the event loop come to the gate until it ends.
    await new Promise((resolve) => setImmediate(resolve));
    try {
      for (;;) {
        assertNotAborted(signal);
        this.#assertWithinRun();
        const wanted = Math.max(1, Math.min(1 + this.#gate.size, maxRequests - this.#spent));
        const slots = Array.from({ length: wanted }, () => ({ id: `${this.#owner}/${++this.#lastId}` }));
        const [first, ...others] = slots as [Slot, ...Slot[]];
        const settled = this.#settled;
        const { decision, ahead } = await this.#state.reserve([first.id, ...others.map(({ id }) => id)]);
        if (decision.kind === 'granted') {
          this.#ahead.push(...others.slice(0, ahead));
          return first;
        }
        if (decision.kind === 'impossible') throw buildNoQuotaError(decision.limit, limits);
        // An answer that came while the store decided may be the one to wait for.
        if (decision.endsBy === 'answer-or-time' && settled !== this.#settled) continue;
        await this.#waitOut(decision, told, signal);
      }
    } finally {
      told.end();
    }
  }

  /** Gives back what was reserved for requests that wait no longer. */
  #returnSpare(): void {
    while (this.#ahead.length > this.#gate.size) {
      const slot = this.#ahead.pop();
      if (slot !== undefined) this.#state.settle(slot.id, { kind: 'unsent' });
    }
  }

  /**
   * Sleeps for as long as the rules asked, reckoned without the wall clock from here on: set forward while
   * we sleep it ends nothing early.
   */
  async #waitOut(wait: QuotaWait, told: ReportedWait, signal: AbortSignal | undefined): Promise<void> {
    const { clock } = this.#options;
    const neededMs = Math.max(1, wait.untilMs - clock.now());
    this.#assertMayWait(wait, neededMs);
    told.update(wait);
    const startMs = clock.monotonic();
    try {
      for (;;) {
        const leftMs = startMs + neededMs - clock.monotonic();
        if (leftMs <= 0) return;
        const woken = await this.#sleep(Math.min(leftMs, TOUCH_MS), wait.endsBy, signal);
        if (woken) return;
        if (leftMs > TOUCH_MS) await this.#state.touch();
      }
    } finally {
      const waitedMs = clock.monotonic() - startMs;
      if (isCounted(wait)) this.#quotaWaitMs += waitedMs;
      else if (wait.reason === 'other-run') this.#otherRunWaitMs += waitedMs;
    }
  }

  /** True when an answer of this process ended the sleep early. */
  async #sleep(ms: number, endsBy: QuotaWait['endsBy'], signal: AbortSignal | undefined): Promise<boolean> {
    // A listener that was told of this wait may have aborted it already.
    assertNotAborted(signal);
    const sleeping = new AbortController();
    const wake = () => sleeping.abort();
    signal?.addEventListener('abort', wake, { once: true });
    if (endsBy === 'answer-or-time') this.#wake = wake;
    try {
      await this.#options.clock.sleep(ms, sleeping.signal);
      return false;
    } catch (error) {
      if (!sleeping.signal.aborted) throw error;
      assertNotAborted(signal);
      return true;
    } finally {
      this.#wake = undefined;
      signal?.removeEventListener('abort', wake);
    }
  }

  #assertWithinRun(): void {
    const { maxRequests, clock } = this.#options;
    if (maxRequests !== undefined && this.#spent >= maxRequests) {
      throw buildRequestLimitError(maxRequests, clock.now());
    }
    this.#assertBeforeDeadline(0, undefined);
  }

  #assertMayWait(wait: QuotaWait, neededMs: number): void {
    this.#assertBeforeDeadline(neededMs, isCounted(wait) ? wait : undefined);
    if (!isCounted(wait) || neededMs <= ROUNDING_MS) return;
    const { maxWaitMs, neverWaits = false, clock } = this.#options;
    if (neverWaits || this.#quotaWaitMs + neededMs > maxWaitMs) {
      throw buildQuotaExhaustedError({ ...wait, nowMs: clock.now() }, this.seen(), neverWaits);
    }
  }

  #assertBeforeDeadline(neededMs: number, wait: QuotaWait | undefined): void {
    const { deadlineMs, clock } = this.#options;
    if (deadlineMs === undefined || clock.monotonic() + neededMs < deadlineMs) return;
    throw buildDeadlineError(wait, clock.now());
  }
}

// Burst waits and waits for an answer in flight are part of the pace: --max-wait 0 allows them.
function isCounted(wait: QuotaWait): boolean {
  return wait.reason === 'hourly-quota' || wait.reason === 'rate-limited';
}
