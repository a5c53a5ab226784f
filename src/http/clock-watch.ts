import type { Clock } from '../model/clock.ts';

// Clocks that are being corrected drift apart by up to a part in 2,000; two readings are never at once.
const TOLERATED_DRIFT = 0.001;
const TOLERATED_MS = 50;

/** The wall time, and how far the wall clock was set forward since it was read last (0 when it was not), ms. */
export interface WatchedTime {
  readonly now: number;
  readonly jumpMs: number;
}

/** Reads the wall clock and compares it with the one that cannot be set. A suspended machine looks the same. */
export function createClockWatch(clock: Clock): () => WatchedTime {
  let last = { wallMs: clock.now(), monotonicMs: clock.monotonic() };
  return function readTime() {
    const wallMs = clock.now();
    const monotonicMs = clock.monotonic();
    const passedMs = monotonicMs - last.monotonicMs;
    const aheadMs = wallMs - last.wallMs - passedMs;
    last = { wallMs, monotonicMs };
    return { now: wallMs, jumpMs: aheadMs > TOLERATED_MS + passedMs * TOLERATED_DRIFT ? aheadMs : 0 };
  };
}
