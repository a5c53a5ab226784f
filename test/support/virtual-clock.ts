import type { Clock } from '../../src/model/clock.ts';

/** A clock whose time passes only while everybody sleeps on it: hours of waiting take milliseconds. */
export interface VirtualClock extends Clock {
  /** Sets the wall clock forward (or back, when negative) and lets no time pass. */
  stepWall(ms: number): void;
  /** Stops time until the returned function is called, while something real (a socket, a file) is under way. */
  hold(): () => void;
  /** How many sleep now. */
  readonly sleeperCount: number;
}

interface Sleeper {
  readonly dueMs: number;
  readonly wake: () => void;
}

/**
 * Starts at wall time `startMs`. Time moves to the next sleeper's end once the process has been idle for
 * `idleRounds` turns of the event loop, so code that only awaits promises and this clock needs no real time.
 */
export function createVirtualClock(
  options: { readonly startMs?: number; readonly idleRounds?: number } = {},
): VirtualClock {
  const { startMs = Date.UTC(2026, 10, 20, 12), idleRounds = 3 } = options;
  const sleepers: Sleeper[] = [];
  let elapsedMs = 0;
  let wallOffsetMs = startMs;
  let holdCount = 0;
  let quietRounds = 0;
  let isTurning = false;

  function turn(): void {
    if (sleepers.length === 0 || holdCount > 0) {
      isTurning = false;
      return;
    }
    quietRounds += 1;
    if (quietRounds > idleRounds) {
      quietRounds = 0;
      const dueMs = sleepers[0]?.dueMs ?? elapsedMs;
      elapsedMs = Math.max(elapsedMs, dueMs);
      while (sleepers[0] !== undefined && sleepers[0].dueMs <= elapsedMs) sleepers.shift()?.wake();
    }
    setImmediate(turn);
  }

  function startTurning(): void {
    quietRounds = 0;
    if (isTurning || holdCount > 0) return;
    isTurning = true;
    setImmediate(turn);
  }

  return {
    now: () => wallOffsetMs + elapsedMs,
    monotonic: () => elapsedMs,
    sleep(ms, signal) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted === true) {
          reject(signal.reason as Error);
          return;
        }
        const onAbort = () => {
          sleepers.splice(sleepers.indexOf(sleeper), 1);
          reject(signal?.reason as Error);
        };
        const wake = () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        };
        const sleeper: Sleeper = { dueMs: elapsedMs + Math.max(0, ms), wake };
        const after = sleepers.findIndex((other) => other.dueMs > sleeper.dueMs);
        sleepers.splice(after === -1 ? sleepers.length : after, 0, sleeper);
        signal?.addEventListener('abort', onAbort, { once: true });
        startTurning();
      });
    },
    stepWall(ms) {
      wallOffsetMs += ms;
    },
    hold() {
      holdCount += 1;
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        holdCount -= 1;
        startTurning();
      };
    },
    get sleeperCount() {
      return sleepers.length;
    },
  };
}
