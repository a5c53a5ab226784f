import type { Clock } from '../../src/model/clock.ts';

interface Sleeper {
  readonly dueMs: number;
  readonly wake: () => void;
}

/** Turns of the event loop without anything new after which everybody is taken to be asleep. */
const QUIET_TURNS = 3;

/** A clock on which hours of waiting take no time: it moves on only while everybody sleeps on it. */
export function createHoursClock(startMs: number): Clock {
  let elapsedMs = 0;
  let quietTurns = 0;
  let isTurning = false;
  let sleepers: readonly Sleeper[] = [];

  function turn(): void {
    const next = sleepers[0];
    isTurning = next !== undefined;
    if (next === undefined) return;
    quietTurns += 1;
    if (quietTurns > QUIET_TURNS) {
      quietTurns = 0;
      elapsedMs = Math.max(elapsedMs, next.dueMs);
      const due = sleepers.filter(({ dueMs }) => dueMs <= elapsedMs);
      sleepers = sleepers.filter(({ dueMs }) => dueMs > elapsedMs);
      for (const { wake } of due) wake();
    }
    setImmediate(turn);
  }

  return {
    now: () => startMs + elapsedMs,
    monotonic: () => elapsedMs,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const leave = () => {
          sleepers = sleepers.filter((one) => one !== sleeper);
          reject(signal?.reason as Error);
        };
        const wake = () => {
          signal?.removeEventListener('abort', leave);
          resolve();
        };
        const sleeper: Sleeper = { dueMs: elapsedMs + Math.max(0, ms), wake };
        if (signal?.aborted === true) {
          leave();
          return;
        }
        sleepers = [...sleepers, sleeper].sort((a, b) => a.dueMs - b.dueMs);
        signal?.addEventListener('abort', leave, { once: true });
        quietTurns = 0;
        if (!isTurning) setImmediate(turn);
        isTurning = true;
      }),
  };
}
