/**
 * Time as an argument: every wait and every deadline goes through one of these, so that a five-hour
 * backfill can be run in a test within seconds.
 */
export interface Clock {
  /** Wall time in milliseconds since the epoch; it may jump when the machine's clock is set. */
  now(): number;
  /** Milliseconds from an arbitrary start, the same for all processes of a machine; never jumps backwards. */
  monotonic(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

// A longer timeout overflows Node's 32-bit timer and fires at once.
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  // performance.now() would begin with each process.
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
  async sleep(ms, signal) {
    const end = performance.now() + ms;
    for (;;) {
      signal?.throwIfAborted();
      const left = end - performance.now();
      if (left <= 0) return;
      await sleepOnce(Math.min(left, LONGEST_TIMEOUT_MS), signal);
    }
  },
};

/** The same clock with its wall time frozen. */
export function stopClock(clock: Clock, atMs: number): Clock {
  return {
    now: () => atMs,
    monotonic: () => clock.monotonic(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
  };
}

function sleepOnce(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
