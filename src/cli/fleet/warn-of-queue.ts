import type { WorkRequest } from '../frame/fleet-engine.ts';

/** The same warning comes again after so long, ms. */
const WARN_EVERY_MS = 10 * 60_000;

/**
 * Passes on what the queue complains of. Its upkeep is tried every few seconds, so what goes on is said once in a while; a
 * worker that stops has closed it, and then nothing is wrong.
 */
export function warnOfQueue({
  clock,
  signal,
  onEvent,
}: Pick<WorkRequest, 'clock' | 'signal' | 'onEvent'>): (error: Error) => void {
  const saidAtMs = new Map<string, number>();
  return ({ message }) => {
    const nowMs = clock.monotonic();
    if (signal.aborted || nowMs - (saidAtMs.get(message) ?? -Infinity) < WARN_EVERY_MS) return;
    saidAtMs.set(message, nowMs);
    onEvent({ type: 'warning', message: `the queue: ${message}` });
  };
}
