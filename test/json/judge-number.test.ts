import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ExactNumber, parseExact } from '../../src/json/exact-number.ts';
import { judgeNumber } from '../../src/json/judge-number.ts';
import { hostileNumber } from '../support/hostile-rows.ts';
import { countRuns } from '../support/seeds.ts';

describe('judgeNumber', () => {
  it.each([
    ['1e3', 'double', 'odd'],
    ['1E+3', 'double', 'odd'],
    ['1.5e-7', 'double', 'double'],
    ['1.5e-07', 'double', 'double'],
    ['0.00015E-3', 'double', 'double'],
    ['15e-1', 'double', 'double'],
    ['1.5e1', 'double', 'odd'],
    ['1e+21', 'double', 'turned'],
    ['1e21', 'double', 'turned'],
    ['-0', 'odd', 'turned'],
    ['-0.0', 'double', 'turned'],
    ['1.0', 'double', 'odd'],
    ['0.50', 'double', 'double'],
    ['5e-324', 'double', 'double'],
    ['1e400', 'hard', 'hard'],
    ['1e-400', 'hard', 'hard'],
    ['0e5', 'odd', 'odd'],
    ['-0e0', 'odd', 'turned'],
    ['1.00000000000000000001e-7', 'hard', 'hard'],
    ['9007199254740993e3', 'double', 'turned'],
    ['9007199254740993e0', 'hard', 'hard'],
    ['0.30000000000000004', 'double', 'double'],
    ['0.300000000000000040', 'double', 'double'],
    ['0.12345678901234567890', 'hard', 'hard'],
    ['9007199254740991', 'double', 'double'],
    ['9007199254740992', 'long', 'long'],
    ['-9007199254740993', 'long', 'long'],
    ['9223372036854775807', 'long', 'long'],
    ['9223372036854775808', 'hard', 'hard'],
    ['-9223372036854775808', 'long', 'long'],
    ['-9223372036854775809', 'hard', 'hard'],
    ['12345678901234567890123', 'hard', 'hard'],
  ])('says of %s that it is %s, and in an array %s', (token, outside, inside) => {
    expect([judgeNumber(token, false), judgeNumber(token, true)]).toEqual([outside, inside]);
  });

  it('leaves to an exact parser what that keeps as text, and nothing else', () => {
    fc.assert(
      fc.property(hostileNumber, fc.boolean(), (token, isInArray) => {
        const kind = judgeNumber(token, isInArray);
        const value = parseExact(token);
        const isExact = kind === 'long' || kind === 'hard';
        expect(value).toEqual(isExact ? new ExactNumber(token) : Number(token));
      }),
      { numRuns: countRuns(20_000) },
    );
  });
});
