import { describe, expect, it } from 'vitest';
import { isSame, type Seen } from '../../src/sync/prove-same-data.ts';

const seen = (given: Partial<Seen>): Seen => ({
  compared: 100,
  known: 100,
  equal: 100,
  chance: 0,
  hasKey: true,
  ...given,
});

describe('records that a new key reads', () => {
  it.each<[what: string, given: Partial<Seen>, same: boolean]>([
    ['all as in the table', {}, true],
    ['all as in the table, of two', { compared: 2, known: 2, equal: 2 }, true],
    ['a quarter restated', { equal: 75 }, true],
    ['three quarters restated', { equal: 25 }, true],
    ['nearly all restated', { equal: 15 }, false],
    ['half of them new', { known: 50, equal: 50 }, true],
    ['most of them new', { known: 40, equal: 40 }, false],
    ['a yes or no of another account', { equal: 52, chance: 0.5 }, false],
    ['a yes or no, lucky', { equal: 65, chance: 0.5 }, false],
    ['a yes or no, a few restated', { equal: 90, chance: 0.5 }, true],
    ['a yes or no, a few restated, of ten', { compared: 10, known: 10, equal: 9, chance: 0.5 }, false],
    ['one of two', { compared: 2, known: 2, equal: 1 }, false],
    ['mostly no', { equal: 91, chance: 0.9 }, false],
    ['no key, all there', { hasKey: false }, true],
    ['no key, all there by chance', { hasKey: false, compared: 5, known: 5, equal: 5, chance: 0.5 }, false],
    ['no key, many there as ever', { hasKey: false, known: 60, equal: 60, chance: 0.5 }, false],
    ['no key, some new', { hasKey: false, known: 70, equal: 70, chance: 0.05 }, true],
    ['none', { compared: 0, known: 0, equal: 0 }, false],
  ])('%s', (_, given, same) => {
    expect(isSame(seen(given))).toBe(same);
  });
});
