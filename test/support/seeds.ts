import { randomInt } from 'node:crypto';

/** Seed of every random choice of a test file: `SLUICE_SEED`, else a new one. Failures print it. */
export const seed = readSeed(process.env['SLUICE_SEED']) ?? randomInt(2 ** 31 - 1);

/** How often a loop over random cases runs: so often in `npm test`, so often in each round of the soak. */
export function countRuns(daily: number, soak: number): number {
  return process.env['SLUICE_SOAK'] === '1' ? soak : daily;
}

/** Numbers in [0, 1) that depend on a seed alone (mulberry32). */
export function createRandom(from: number = seed): () => number {
  let state = from >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function readSeed(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  const value = Number(text);
  if (!Number.isInteger(value)) throw new RangeError(`SLUICE_SEED is no whole number: ${text}`);
  return value;
}
