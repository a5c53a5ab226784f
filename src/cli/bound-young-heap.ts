import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Room for young objects that a sync does well with, both halves together, bytes. */
const ENOUGH_BYTES = 16 * 2 ** 20;
const LOOK_EVERY_MS = 50;

/**
 * Stops the heap of young objects from growing once it is large enough. Left alone it grows to 128 MB on a
 * large machine while gigabytes pass through, and a process never gives that back while it works.
 */
export function boundYoungHeap(): void {
  const timer = setInterval(() => {
    const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
    if (young !== undefined && young.space_size < ENOUGH_BYTES) return;
    setFlagsFromString('--semi-space-growth-factor=1');
    clearInterval(timer);
  }, LOOK_EVERY_MS);
  timer.unref();
}
