import { expect } from 'vitest';

/** How much larger the large size is: what grows with its square takes 256 times as long. */
const FACTOR = 16;
/** As far from 16 as from 256, since a cache that no longer holds it all makes a large run slower. */
const MOST_GROWTH = 64;
const LEAST_ROUNDS = 3;
const MOST_ROUNDS = 10;

/**
 * Fails when the time that `run` takes grows like the square of its size. Only the best of several rounds count, so
 * that it does not matter how fast the machine is, or what else it does.
 */
export async function expectNoSquare(size: number, run: (size: number) => unknown): Promise<void> {
  // The first run also compiles the code.
  await run(size);
  let smallMs = Infinity;
  let largeMs = Infinity;
  for (let round = 1; round <= MOST_ROUNDS; round += 1) {
    smallMs = Math.min(smallMs, await measureMs(() => run(size)));
    largeMs = Math.min(largeMs, await measureMs(() => run(FACTOR * size)));
    if (round >= LEAST_ROUNDS && largeMs < MOST_GROWTH * smallMs) return;
  }
  expect(largeMs / smallMs, `${smallMs} ms became ${largeMs} ms`).toBeLessThan(MOST_GROWTH);
}

async function measureMs(run: () => unknown): Promise<number> {
  const startMs = performance.now();
  await run();
  return performance.now() - startMs;
}
