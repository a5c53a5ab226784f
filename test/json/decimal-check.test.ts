import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSafeWhole, isShortestDecimal } from '../../src/json/decimal-check.ts';
import { countRuns } from '../support/seeds.ts';

const isShortest = (text: string) => isShortestDecimal(Buffer.from(text), 0, text.length);
const isSafe = (text: string) => isSafeWhole(Buffer.from(text), 0, text.length);
/** What a serializer of doubles writes. */
const rewrite = (text: string) => String(Number(text));

/** Doubles as they are met: any bits, quotients, and those at and beside a power of two. */
const double = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e17, max: 1e17 }),
  fc.tuple(fc.integer(), fc.integer({ min: 1 })).map(([a, b]) => a / b),
  fc.tuple(fc.integer({ min: -20, max: 53 }), fc.integer({ min: -3, max: 3 })).map(([e, steps]) => {
    const value = new Float64Array([2 ** e]);
    const bits = new BigInt64Array(value.buffer);
    bits[0] = (bits[0] ?? 0n) + BigInt(steps);
    return value[0] ?? 0;
  }),
);
/** As a serializer writes it, with another last digit, with more or fewer digits, and with as many as wanted. */
const spelt = fc
  .tuple(double, fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 20 }))
  .map(([value, how, digits]) => {
    const text = String(value);
    const others = [
      text,
      `${text.slice(0, -1)}${digits % 10}`,
      `${text}${digits}`,
      text.slice(0, -1),
      value.toFixed(digits),
      value.toPrecision(15 + (digits % 3)),
    ];
    return others[how] ?? text;
  });
const decimal = spelt.filter((text) => /^-?\d+\.\d+$/.test(text));

describe('isShortestDecimal', () => {
  it('never accepts what a serializer of doubles writes another way', () => {
    fc.assert(
      fc.property(decimal, (text) => {
        if (isShortest(text)) expect(rewrite(text)).toBe(text);
      }),
      { numRuns: countRuns(20_000) },
    );
  });

  it('accepts all quotients of small numbers as such a serializer writes them', () => {
    const upTo = Array.from({ length: 100 }, (_, at) => at + 1);
    const texts = upTo
      .flatMap((a) => upTo.map((b) => String(a / b)))
      .filter((text) => /^\d+\.\d+$/.test(text));
    expect(texts.length).toBeGreaterThan(9_000);
    expect(texts.filter((text) => !isShortest(text))).toEqual([]);
  });

  it.each([
    ['0.14285714285714285', true],
    ['-0.14285714285714285', true],
    ['0.000001234567890123456', true],
    ['123456.12345678912', true],
    ['123456.12345678901', false],
    // Its double is written with an exponent.
    ['0.0000001234567890123456', false],
    // One more in the last digit, and the same double.
    ['0.14285714285714286', false],
    ['0.1428571428571428500', false],
    ['0.142857142857142851', false],
    ['0.10000000000000001', false],
    // A half lies right at a power of two, where it is left to another way.
    ['0.50000000000000011', false],
    ['4503599627370496.5', false],
    ['9007199254740993.5', false],
    ['0.0000000000000000', false],
  ])('says of %s: %s', (text, expected) => {
    expect(isShortest(text)).toBe(expected);
    if (expected) expect(rewrite(text)).toBe(text);
  });
});

describe('isSafeWhole', () => {
  it.each([
    ['9007199254740991', true],
    ['-9007199254740991', true],
    ['9007199254740992', false],
    ['9007199254740993', false],
    ['-9007199254740992', false],
    ['9999999999999999', false],
    ['10000000000000000', false],
    ['99999999999999999999', false],
  ])('says of %s: %s', (text, expected) => {
    expect(isSafe(text)).toBe(expected);
  });

  it('agrees with the engine of numbers around the largest safe one', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 2n ** 53n - 5_000n, max: 2n ** 53n + 5_000n }), (value) => {
        expect(isSafe(String(value))).toBe(value < 2n ** 53n);
      }),
      { numRuns: countRuns(1_000) },
    );
  });
});
