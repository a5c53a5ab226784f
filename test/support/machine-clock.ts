import type { Clock } from '../../src/model/clock.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** The clock of one of several machines, whose time is that of one virtual clock. */
export interface MachineClock extends Clock {
  /** Sets this machine's wall clock forward (or back, when negative). */
  stepWall(ms: number): void;
}

/** A clock that is `skewMs` ahead at first, gains `ppm` millionths, and began to count at `bootMs`. */
export function createMachineClock(
  clock: VirtualClock,
  {
    skewMs,
    ppm = 0,
    bootMs = 0,
  }: { readonly skewMs: number; readonly ppm?: number; readonly bootMs?: number },
): MachineClock {
  let steppedMs = 0;
  return {
    now: () => Math.round(clock.now() + skewMs + steppedMs + (clock.monotonic() * ppm) / 1e6),
    monotonic: () => clock.monotonic() + bootMs,
    sleep: (ms, signal) => clock.sleep(ms, signal),
    stepWall(ms) {
      steppedMs += ms;
    },
  };
}
