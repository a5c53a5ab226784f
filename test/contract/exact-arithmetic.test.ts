import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareNumbers, isMultipleOf, isWhole } from '../../src/contract/exact-arithmetic.ts';
import { parseExact, isJsonNumber, type JsonNumber } from '../../src/json/exact-number.ts';

/** digits * 10^-scale, as JSON writes it and as whole numbers of 10^-12. */
const decimal = fc
  .tuple(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), fc.nat(12))
  .map(([digits, scale]) => ({ text: `${digits}e-${scale}`, units: digits * 10n ** BigInt(12 - scale) }));

function read(text: string): JsonNumber {
  const value = parseExact(text);
  if (!isJsonNumber(value)) throw new Error(`${text} is no number`);
  return value;
}

describe('numbers of any length', () => {
  it('compare by their decimal value', () => {
    fc.assert(
      fc.property(decimal, decimal, (a, b) => {
        const expected = a.units < b.units ? -1 : a.units > b.units ? 1 : 0;
        expect(Math.sign(compareNumbers(read(a.text), read(b.text)))).toBe(expected);
        expect(compareNumbers(read(a.text), read(a.text))).toBe(0);
      }),
    );
  });

  it('are whole, or multiples, as their decimals say', () => {
    fc.assert(
      fc.property(decimal, decimal, (value, step) => {
        expect(isWhole(read(value.text))).toBe(value.units % 10n ** 12n === 0n);
        fc.pre(step.units > 0n);
        expect(isMultipleOf(read(value.text), read(step.text))).toBe(value.units % step.units === 0n);
      }),
    );
  });

  it('need no time for an exponent without end', () => {
    expect(compareNumbers(read('1e400000000'), read('1e-400000000'))).toBe(1);
    expect(compareNumbers(read('-1e400000000'), 0)).toBe(-1);
    expect(isMultipleOf(read('1e400000000'), 7)).toBe(false);
    expect(isMultipleOf(read('7e400000000'), 7)).toBe(true);
    expect(isMultipleOf(read('1e-400000000'), read('0.1'))).toBe(false);
  });
});
