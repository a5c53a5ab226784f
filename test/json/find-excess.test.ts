import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findExcess, MOST_LEVELS, MOST_VALUES } from '../../src/json/find-excess.ts';
import { countRuns } from '../support/seeds.ts';

const LONG = 2 ** 20;
const pad = ' '.repeat(LONG);

describe('findExcess', () => {
  it('finds more values than memory should hold, in arrays and in objects', () => {
    const list = `[0${',0'.repeat(MOST_VALUES)}]`;
    expect(findExcess(list)).toBe('more than 1,000,000 values');
    expect(findExcess(list.replaceAll('0', '{}'))).toBe('more than 1,000,000 values');
    expect(findExcess(`{"a":1${',"a":1'.repeat(MOST_VALUES)}}`)).toBe('more than 1,000,000 values');
    expect(findExcess(`[0${',0'.repeat(MOST_VALUES - 10)}]`)).toBeUndefined();
  });

  it('finds more levels than reading back could bear, closed or not', () => {
    expect(findExcess(pad + '['.repeat(MOST_LEVELS + 1))).toBe('more than 600 levels');
    expect(findExcess(pad + '{"a":'.repeat(MOST_LEVELS + 1))).toBe('more than 600 levels');
    expect(findExcess(pad + '['.repeat(MOST_LEVELS) + ']'.repeat(MOST_LEVELS))).toBeUndefined();
    expect(findExcess(pad + '[]'.repeat(MOST_LEVELS + 1))).toBeUndefined();
  });

  it('counts nothing within texts', () => {
    const text = JSON.stringify(['[,{'.repeat(MOST_VALUES), '\\"', '"', ',']);
    expect(findExcess(text)).toBeUndefined();
  });

  it('leaves short texts to the parser', () => {
    expect(findExcess('['.repeat(LONG))).toBeUndefined();
  });

  it('ends for any text, and finds nothing in usual JSON', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.jsonValue(), (text, value) => {
        findExcess(pad + text);
        expect(findExcess(pad + JSON.stringify(value))).toBeUndefined();
      }),
      { numRuns: countRuns(30) },
    );
  });
});
