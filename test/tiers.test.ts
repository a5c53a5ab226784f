import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { findTier, listTestFiles, namedPlaces, tierNames } from './tiers.ts';

describe('a tier', () => {
  it('has every test file: one that has none fails the suite', () => {
    const tiers = listTestFiles().map((file) => findTier(file));
    expect(new Set(tiers)).toEqual(new Set(tierNames));
    expect(() => findTier('nowhere/new.test.ts')).toThrow('test/nowhere/new.test.ts is in no tier');
  });

  it('names only places that exist, each once', () => {
    const files = listTestFiles();
    expect(namedPlaces.filter((place) => !files.some((file) => file.startsWith(place)))).toEqual([]);
    expect(new Set(namedPlaces).size).toBe(namedPlaces.length);
  });
});

describe('the number of cases of a random test', () => {
  it('follows the one scale of test/support/seeds.ts', () => {
    const own = listTestFiles().filter((file) =>
      /numRuns: \d/.test(readFileSync(path.join(import.meta.dirname, file), 'utf8')),
    );
    expect(own).toEqual([]);
  });
});
