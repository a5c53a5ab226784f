import { type Clock, stopClock } from './clock.ts';
import { DAY_MS } from './dates.ts';

/**
 * The clock of what is recorded: commits, versions and runs. Their order is that of their times, so it never runs
 * backwards, not from one run to the next either; the machine's clock may. Decisions (how old is it?) use that one.
 */
export class RecordClock implements Clock {
  /** The latest time that earlier runs recorded; undefined for a first run. */
  readonly recordedMs: number | undefined;
  readonly #clock: Clock;
  #lastMs: number;

  constructor(clock: Clock, recordedMs: number | undefined) {
    this.recordedMs = recordedMs;
    this.#clock = clock;
    this.#lastMs = recordedMs === undefined ? -Infinity : recordedMs + 1;
  }

  /** A record clock that stands still. */
  static stoppedAt(clock: Clock, atMs: number): RecordClock {
    return new RecordClock(stopClock(clock, atMs), undefined);
  }

  now(): number {
    this.#lastMs = Math.max(this.#lastMs, this.#clock.now());
    return this.#lastMs;
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#clock.sleep(ms, signal);
  }

  /** Whether earlier runs recorded times that the machine's clock will not reach for more than a day. */
  get isFarAhead(): boolean {
    return this.#lastMs - this.#clock.now() > DAY_MS;
  }

  /** Follows the machine's clock again, once the times that were ahead of it are corrected. */
  reset(): void {
    this.#lastMs = this.#clock.now();
  }
}
