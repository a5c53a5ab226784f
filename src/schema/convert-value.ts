import { ExactNumber, isExactAsDouble, normalizeDecimal } from '../json/exact-number.ts';
import type { ForcedType } from '../model/schema.ts';
import { decimalRoom } from './column-types.ts';
import { classifyString } from './classify-time.ts';
import { INT128_MAX, INT64_MAX, Kind } from './field-kinds.ts';

// A number of JSON's own spelling; text that only begins like one, or has zeros in front, is not a number.
const NUMBER_TEXT = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
// Beyond every type's digits, and short enough to write out.
const MOST_DIGITS = 39n;

/**
 * The text of a value as a column of this type stores it, or undefined when the type does not hold the value
 * exactly. Text that spells a number counts as that number, `true` and `false` as booleans, ISO text as its day
 * or moment; anything can be text or JSON.
 *
 * @param value neither null nor undefined
 */
export function convertValue(value: unknown, type: ForcedType): string | undefined {
  switch (type) {
    case 'VARCHAR':
      return toPlainText(value);
    case 'JSON':
      return JSON.stringify(value);
    case 'BOOLEAN':
      return value === true || value === 'true'
        ? 'true'
        : value === false || value === 'false'
          ? 'false'
          : undefined;
    case 'BIGINT':
      return toInteger(value, INT64_MAX, 1n);
    case 'HUGEINT':
      // -2^127 itself is left out: the engine's own limit is the symmetric one.
      return toInteger(value, INT128_MAX, 0n);
    case 'DOUBLE':
      return toDouble(value);
    case 'DATE':
      return hasKind(value, Kind.date);
    case 'TIMESTAMP':
      return hasKind(value, Kind.timestampWithoutZone);
    case 'TIMESTAMPTZ':
      return hasKind(value, Kind.timestampWithZone);
    default:
      return toDecimal(value, type);
  }
}

/** The same for a type that a field has because its numbers are to be exact: text stays text, whatever it spells. */
export function convertExact(value: unknown, type: ForcedType): string | undefined {
  return typeof value === 'string' && type !== 'VARCHAR' ? undefined : convertValue(value, type);
}

/** A value as text: strings and numbers as they were written, lists and objects as JSON. */
export function toPlainText(value: unknown): string {
  if (value instanceof ExactNumber) return value.text;
  if (typeof value === 'string') return value;
  return Object.is(value, -0) ? '-0' : JSON.stringify(value);
}

function hasKind(value: unknown, kind: number): string | undefined {
  return typeof value === 'string' && classifyString(value) === kind ? value : undefined;
}

function readNumber(value: unknown): string | undefined {
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  if (value instanceof ExactNumber) return value.text;
  return typeof value === 'string' && NUMBER_TEXT.test(value) ? value : undefined;
}

function toInteger(value: unknown, most: bigint, moreBelow: bigint): string | undefined {
  const digits = writeDigits(readNumber(value), 0);
  if (digits === undefined) return undefined;
  const number = BigInt(digits);
  return number <= most && number >= -most - moreBelow ? String(number) : undefined;
}

function toDouble(value: unknown): string | undefined {
  const text = readNumber(value);
  if (text === undefined) return undefined;
  const double = Number(text);
  if (!isExactAsDouble(double, text)) return undefined;
  return Object.is(double, -0) ? '-0.0' : String(double);
}

function toDecimal(value: unknown, type: ForcedType): string | undefined {
  const room = decimalRoom(type);
  const digits = room && writeDigits(readNumber(value), room.scale);
  if (room === undefined || digits === undefined) return undefined;
  const whole = /^-?0*(\d*)/.exec(digits)?.[1]?.length ?? 0;
  return whole <= room.whole ? digits : undefined;
}

/** A number in digits alone, with at most `scale` of them behind the point; undefined when it has more. */
function writeDigits(text: string | undefined, scale: number): string | undefined {
  if (text === undefined) return undefined;
  const [, sign = '', digits = '', exponent = '0'] =
    /^(-?)(\d+)(?:e(-?\d+))?$/.exec(normalizeDecimal(text)) ?? [];
  if (digits === '') return undefined;
  if (digits === '0') return '0';
  const power = BigInt(exponent);
  if (power >= 0n)
    return power + BigInt(digits.length) <= MOST_DIGITS
      ? `${sign}${digits}${'0'.repeat(Number(power))}`
      : undefined;
  if (-power > BigInt(scale)) return undefined;
  const padded = digits.padStart(Number(-power) + 1, '0');
  const point = padded.length + Number(power);
  return `${sign}${padded.slice(0, point)}.${padded.slice(point)}`;
}
