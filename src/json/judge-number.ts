import { isExactAsDouble } from './exact-number.ts';

/**
 * What it takes to read a number:
 * - `double`: nothing. A double holds it; the engine reads the same value, and writes it as we do in arrays.
 * - `long`: an exact parser. A whole number of 64 bits that is safer as text; the engine reads and writes it as it is.
 * - `odd`: our parser. A double holds it, and the engine writes it another way.
 * - `turned`: our parser. It is in an array, and we write it as another kind of number: `-0` as `0`, `1e20` in digits.
 * - `hard`: our parser, an exact one.
 */
export type NumberKind = 'double' | 'long' | 'odd' | 'turned' | 'hard';

const NOT_WHOLE = /[.e]/i;
const EXPONENT = /e/i;
/** Digits of the largest number of 64 bits with a sign; all numbers with fewer are within. */
const LONG_DIGITS = 19;

/** Judges a number in JSON; `isInArray` is for those that the engine writes down again. */
export function judgeNumber(token: string, isInArray: boolean): NumberKind {
  const value = Number(token);
  if (isInArray && Object.is(value, -0)) return isExactAsDouble(value, token) ? 'turned' : 'hard';
  if (!NOT_WHOLE.test(token)) {
    // As a whole number, the engine loses the sign of a zero.
    if (Number.isSafeInteger(value)) return Object.is(value, -0) ? 'odd' : 'double';
    return isLong(token) ? 'long' : 'hard';
  }
  if (!isExactAsDouble(value, token)) return 'hard';
  if (value === 0 && EXPONENT.test(token)) return 'odd';
  // The engine writes `1.0` and `1e25`, which are `1` and `1e+25` to us.
  if (!isInArray || !Number.isInteger(value)) return 'double';
  return Number.isSafeInteger(value) ? 'odd' : 'turned';
}

function isLong(token: string): boolean {
  const digits = token.startsWith('-') ? token.length - 1 : token.length;
  if (digits !== LONG_DIGITS) return digits < LONG_DIGITS;
  return BigInt.asIntN(64, BigInt(token)) === BigInt(token);
}
