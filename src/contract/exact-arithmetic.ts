import { ExactNumber, type JsonNumber, normalizeDecimal } from '../json/exact-number.ts';

// A decimal is sign * digits * 10^power; the digits of zero are "0", others end in no zero.
interface Decimal {
  readonly negative: boolean;
  readonly digits: string;
  readonly power: bigint;
}

/** True when the number has nothing behind the point. */
export function isWhole(value: JsonNumber): boolean {
  return toDecimal(value).power >= 0n;
}

/** Less than 0, 0, or more than 0, as `a` is to `b`; by the decimal value, not by what a double makes of it. */
export function compareNumbers(a: JsonNumber, b: JsonNumber): number {
  if (typeof a === 'number' && typeof b === 'number') return a < b ? -1 : a > b ? 1 : 0;
  const [left, right] = [toDecimal(a), toDecimal(b)];
  const sign = signOf(left) - signOf(right);
  if (sign !== 0) return sign;
  return left.negative ? compareMagnitudes(right, left) : compareMagnitudes(left, right);
}

function signOf({ negative, digits }: Decimal): number {
  return digits === '0' ? 0 : negative ? -1 : 1;
}

function compareMagnitudes(a: Decimal, b: Decimal): number {
  const sizeA = BigInt(a.digits.length) + a.power;
  const sizeB = BigInt(b.digits.length) + b.power;
  // Sizes first: an exponent may be far longer than any number of digits worth writing down.
  if (sizeA !== sizeB) return sizeA < sizeB ? -1 : 1;
  const length = Math.max(a.digits.length, b.digits.length);
  const [left, right] = [a.digits.padEnd(length, '0'), b.digits.padEnd(length, '0')];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** True when `value` is a whole number of `step`, which is more than 0. */
export function isMultipleOf(value: JsonNumber, step: JsonNumber): boolean {
  const [number, unit] = [toDecimal(value), toDecimal(step)];
  if (number.digits === '0') return true;
  const shift = number.power - unit.power;
  // Its last digit is not zero, so that nothing with more decimals than the step can be a multiple.
  if (shift < 0n) return false;
  const modulus = BigInt(unit.digits);
  return (BigInt(number.digits) * raiseTen(shift, modulus)) % modulus === 0n;
}

/** 10^exponent modulo `modulus`, by squaring. */
function raiseTen(exponent: bigint, modulus: bigint): bigint {
  let result = 1n % modulus;
  let base = 10n % modulus;
  for (let left = exponent; left > 0n; left >>= 1n) {
    if ((left & 1n) === 1n) result = (result * base) % modulus;
    base = (base * base) % modulus;
  }
  return result;
}

/** A number as a message writes it. */
export function writeNumber(value: JsonNumber): string {
  return value instanceof ExactNumber ? value.text : String(value);
}

function toDecimal(value: JsonNumber): Decimal {
  const text = normalizeDecimal(writeNumber(value));
  const [, sign, digits = '0', power = '0'] = /^(-?)(\d+)(?:e(-?\d+))?$/.exec(text) ?? [];
  return { negative: sign === '-', digits, power: BigInt(power) };
}
