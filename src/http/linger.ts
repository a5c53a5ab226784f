import type { Clock } from '../model/clock.ts';

/** How long a stop waits for answers on their way; the rest of its 5 s is for the disk, ms. */
const LINGER_MS = 3_500;

/** Turns the signal of a run into the one of its requests on their way, which aborts later. */
export type Linger = (signal: AbortSignal) => AbortSignal;

/** Signals that abort `LINGER_MS` after the run's, or at once with `closing`; one for each signal. */
export function createLinger(clock: Clock, closing: AbortSignal): Linger {
  const known = new WeakMap<AbortSignal, AbortSignal>();
  return (signal) => {
    const found = known.get(signal);
    if (found !== undefined) return found;
    const late = new AbortController();
    const stop = () => {
      if (closing.aborted) late.abort(closing.reason);
      else
        void clock
          .sleep(LINGER_MS, closing)
          .catch(() => undefined)
          .then(() => late.abort(signal.reason));
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    known.set(signal, late.signal);
    return late.signal;
  };
}
