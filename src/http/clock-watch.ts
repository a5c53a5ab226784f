import type { Clock } from '../model/clock.ts';

/** The wall time, and how far the wall clock was set forward (or back) since it was read last, ms. */
export interface WatchedTime {
  readonly now: number;
  readonly stepMs: number;
}

/** Compares the wall clock with the one that nobody can set. A machine that was suspended looks the same. */
export function createClockWatch(clock: Clock): () => WatchedTime {
  let lastOffsetMs = clock.now() - clock.monotonic();
  return function readTime() {
    const now = clock.now();
    const offsetMs = now - clock.monotonic();
    const stepMs = offsetMs - lastOffsetMs;
    lastOffsetMs = offsetMs;
    return { now, stepMs };
  };
}
