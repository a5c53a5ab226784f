import type { Clock } from '../model/clock.ts';

/** Smaller steps back are common and change little: a machine that corrects its clock, or drift over months. */
const LEAST_STEP_MS = 5 * 60_000;

/** Notices that the wall clock was set back, also where it had been set ahead meanwhile. */
export class WallWatch {
  readonly #clock: Clock;
  /** The largest distance between wall time and the clock that only goes forward. */
  #aheadMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#aheadMs = clock.now() - clock.monotonic();
  }

  /** How far the wall clock went back since the last step that was found; 0 where that is little. */
  takeStepBack(): number {
    const aheadMs = this.#clock.now() - this.#clock.monotonic();
    const stepMs = this.#aheadMs - aheadMs;
    if (stepMs > LEAST_STEP_MS) {
      this.#aheadMs = aheadMs;
      return stepMs;
    }
    this.#aheadMs = Math.max(this.#aheadMs, aheadMs);
    return 0;
  }
}
