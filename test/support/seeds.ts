import { randomInt } from 'node:crypto';

/** Seed of every random choice of a test file: `SLUICE_SEED`, else a new one. Failures print it. */
export const seed = readSeed(process.env['SLUICE_SEED']) ?? randomInt(2 ** 31 - 1);

/** How many cases of random tests run, as a share of those of the full proof. */
const scales = { fast: 0.1, daily: 0.25, full: 1, soak: 6 } as const;

/** One scale for all random tests: `SLUICE_PROOF`, else that of `npm test`. */
const scale = readScale(process.env['SLUICE_PROOF']);

/** How many cases a random test runs, where the full proof runs so many. */
export function countRuns(full: number): number {
  return Math.max(1, Math.round(full * scale));
}

/** Takes every nth step of a walk, where the full proof takes every `full`th; the soak takes each one. */
export function chooseStride(full: number): number {
  return scale > 1 ? 1 : Math.max(1, Math.round(full / scale));
}

/** Whether one of several alike has its turn: each proof tries every second of them, by its seed, and the soak all. */
export function hasTurn(at: number): boolean {
  return scale > 1 || at % 2 === seed % 2;
}

/** How often a random test has to see a thing for its runs to count: so often in the full proof, else at will. */
export function leastSeen(full: number): number {
  return scale < 1 ? -1 : full;
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

function readScale(text: string | undefined): number {
  if (text === undefined || text === '') return scales.daily;
  if (!Object.hasOwn(scales, text))
    throw new RangeError(`SLUICE_PROOF must be one of ${Object.keys(scales).join(', ')}, got ${text}`);
  return scales[text as keyof typeof scales];
}

function readSeed(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  const value = Number(text);
  if (!Number.isInteger(value)) throw new RangeError(`SLUICE_SEED is no whole number: ${text}`);
  return value;
}
