import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ExactNumber, isExactAsDouble, normalizeDecimal, parseExact } from '../../src/json/exact-number.ts';
import { expectNoSquare } from '../support/growth.ts';
import { hostileJson, hostileNumber, oddNames, spelling, writeHostileJson } from '../support/hostile-rows.ts';
import { isSameJson, isSameNumber, readPlainJson } from '../support/plain-json.ts';
import { countRuns } from '../support/seeds.ts';

function textOf(value: unknown): unknown {
  return value instanceof ExactNumber ? value.text : value;
}

describe('parseExact', () => {
  it('gives back text with the same values for any JSON', () => {
    fc.assert(
      fc.property(hostileJson(fc.constantFrom(...oddNames), 4), spelling, (value, spelt) => {
        const text = writeHostileJson(value, spelt);
        const again = JSON.stringify(parseExact(text));
        expect(isSameJson(readPlainJson(again), readPlainJson(text))).toBe(true);
      }),
      { numRuns: countRuns(2_000) },
    );
  });

  it('keeps 2^53 + 1 exactly', () => {
    expect(parseExact('{"id":9007199254740993}')).toEqual({ id: new ExactNumber('9007199254740993') });
    expect(JSON.stringify(parseExact('{"id":9007199254740993}'))).toBe('{"id":9007199254740993}');
  });

  it.each([
    '9007199254740993',
    '-9007199254740993',
    '18446744073709551616',
    '1e400',
    '-1e400',
    '1e-400',
    '3e-324',
    '1.234567e-320',
    '3.14159265358979323846264338327',
    '0.10000000000000000000000000000000001',
  ])('keeps %s as text', (source) => {
    expect(textOf(parseExact(source))).toBe(source);
  });

  it.each(['9007199254740992', '100000000000000000000', '-1234567890123456800'])(
    'keeps the integer %s as text though it is a double, as its neighbours are none',
    (source) => {
      expect(textOf(parseExact(source))).toBe(source);
    },
  );

  it.each([
    ['9007199254740991', 9007199254740991],
    ['0.30000000000000004', 0.30000000000000004],
    ['1.7976931348623157e308', 1.7976931348623157e308],
    ['5e-324', 5e-324],
    ['1e20', 1e20],
    ['1.000000000000000000000', 1],
    ['100e-2', 1],
    ['-0', -0],
    ['-0.000000000000000000', -0],
    ['-0e5', -0],
    ['0e999', 0],
  ])('reads %s as the double it is', (source, value) => {
    expect(parseExact(source)).toBe(value);
  });

  it('reads the number of a name that comes twice from its last place', () => {
    expect(parseExact('{"a":1,"a":9007199254740993}')).toEqual({ a: new ExactNumber('9007199254740993') });
    expect(parseExact('{"a":9007199254740993,"a":1}')).toEqual({ a: 1 });
    expect(parseExact('{"a":9007199254740993,"a":9007199254740995}')).toEqual({
      a: new ExactNumber('9007199254740995'),
    });
  });

  it('makes __proto__ a member like any other', () => {
    const value = parseExact('{"__proto__":{"polluted":9007199254740993}}') as object;
    expect(Object.hasOwn(value, '__proto__')).toBe(true);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(JSON.stringify(value)).toBe('{"__proto__":{"polluted":9007199254740993}}');
  });

  it('never changes a number, and keeps as doubles only what a double holds', () => {
    fc.assert(
      fc.property(hostileNumber, (source) => {
        const value = parseExact(source);
        const written = value instanceof ExactNumber ? value.text : String(value);
        expect(isSameNumber(written, source)).toBe(true);
        if (typeof value === 'number') expect(Number.isFinite(value)).toBe(true);
      }),
      { numRuns: countRuns(5_000) },
    );
  });
});

describe('isExactAsDouble', () => {
  it('is right about every number, short ones with an exponent as well', () => {
    fc.assert(
      fc.property(hostileNumber, (source) => {
        const value = Number(source);
        const exact = Number.isFinite(value) && isSameNumber(source, String(value));
        expect(isExactAsDouble(value, source)).toBe(exact);
      }),
      { numRuns: countRuns(5_000) },
    );
  });
});

describe('normalizeDecimal', () => {
  it('spells equal values alike and others apart', () => {
    fc.assert(
      fc.property(hostileNumber, hostileNumber, (a, b) => {
        const withSign = (text: string) => (/^-[0.]+(?:e|$)/i.test(text) ? 'minus zero' : text);
        fc.pre(withSign(a) === a && withSign(b) === b);
        expect(normalizeDecimal(a) === normalizeDecimal(b)).toBe(isSameNumber(a, b));
      }),
      { numRuns: countRuns(2_000) },
    );
    expect(normalizeDecimal('1.50')).toBe(normalizeDecimal('15e-1'));
    expect(normalizeDecimal('100')).toBe(normalizeDecimal('1E+2'));
  });

  it('takes a number with very many zeros inside in a time that does not grow with their square', async () => {
    await expectNoSquare(10_000, (length) => {
      const source = `1${'0'.repeat(length)}1`;
      expect(normalizeDecimal(source)).toBe(`${source}e0`);
    });
  });
});
