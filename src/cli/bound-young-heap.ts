import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Room for young objects that is enough for a sync, both halves together, in bytes. */
const ENOUGH_BYTES = 16 * 2 ** 20;
const LOOK_EVERY_MS = 50;

/**
 * Stops the heap of young objects from growing once it is large enough. Otherwise it grows to 128 MB on a
 * large machine while gigabytes pass through, and a busy process never gives that memory back.
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
