import { type Clock, stopClock } from './clock.ts';
import { DAY_MS } from './dates.ts';

/**
 * The clock for what is recorded: commits, versions and runs. Their order is that of their times, so this
 * clock never runs backwards, not even between runs; the machine's clock may. Decisions (how old is it?) use
 * the machine's clock.
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

  /** A frozen record clock. */
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

  /** Whether earlier runs recorded times more than a day ahead of the machine's clock. */
  get isFarAhead(): boolean {
    return this.#lastMs - this.#clock.now() > DAY_MS;
  }

  /** Follows the machine's clock again, once the times that were ahead of it are corrected. */
  reset(): void {
    this.#lastMs = this.#clock.now();
  }
}
