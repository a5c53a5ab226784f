import { Kind } from './field-kinds.ts';

const DAYS_IN_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;
const DAY_LENGTH = 10;
const MOST_LENGTH = 35;
const MOST_DECIMALS = 6;
const MOST_OFFSET_HOURS = 14;

const SPACE = 32;
const PLUS = 43;
const COMMA = 44;
const DASH = 45;
const POINT = 46;
const ZERO = 48;
const COLON = 58;
const CAPITAL_T = 84;
const CAPITAL_Z = 90;
const SMALL_Z = 122;

/** Where the characters of a string are looked at; a zero follows them, as nothing that a time has may. */
const space = Buffer.alloc(MOST_LENGTH + 1);

/** Kind of a string: an ISO 8601 date or timestamp that exists in the calendar, else text. */
export function classifyString(value: string): number {
  const { length } = value;
  if (length < DAY_LENGTH || length > MOST_LENGTH || value.charCodeAt(4) !== DASH) return Kind.text;
  const end = space.write(value, 'utf8');
  // A time has only characters of one byte.
  if (end !== length) return Kind.text;
  space[end] = 0;
  return classifyBytes(space, 0, end);
}

/**
 * The same for the UTF-8 bytes of a string, after which a byte follows that no time has: the quote of a JSON string.
 * Looked at byte by byte: nearly every string of a scan passes here, and a pattern takes five times as long.
 */
export function classifyBytes(bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  if (length < DAY_LENGTH || length > MOST_LENGTH || !isCalendarDay(bytes, start)) return Kind.text;
  return length === DAY_LENGTH ? Kind.date : classifyTime(bytes, start + DAY_LENGTH, end);
}

/** Whether YYYY-MM-DD begins here, of a day there is. */
function isCalendarDay(bytes: Uint8Array, at: number): boolean {
  if (bytes[at + 4] !== DASH || bytes[at + 7] !== DASH) return false;
  const year = readPair(bytes, at) * 100 + readPair(bytes, at + 2);
  const month = readPair(bytes, at + 5);
  const day = readPair(bytes, at + 8);
  // All comparisons with anything but a digit are false.
  if (!(year >= 1 && month >= 1 && month <= 12 && day >= 1)) return false;
  const leap = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 1 : 0;
  return day <= (DAYS_IN_MONTH[month - 1] ?? 0) + leap;
}

/** Kind of a string by what follows its day: a time with hours and minutes, and perhaps more. */
function classifyTime(bytes: Uint8Array, start: number, end: number): number {
  if (bytes[start] !== CAPITAL_T && bytes[start] !== SPACE) return Kind.text;
  const isTime =
    readPair(bytes, start + 1) <= 23 && bytes[start + 3] === COLON && readPair(bytes, start + 4) <= 59;
  if (!isTime) return Kind.text;
  const at = findSecondsEnd(bytes, start + 6);
  if (at === end) return Kind.timestampWithoutZone;
  return findOffsetEnd(bytes, at) === end ? Kind.timestampWithZone : Kind.text;
}

/** Where seconds end that may begin here; -1 where they are not seconds of a minute. */
function findSecondsEnd(bytes: Uint8Array, start: number): number {
  if (bytes[start] !== COLON) return start;
  if (!(readPair(bytes, start + 1) <= 59)) return -1;
  const point = start + 3;
  if (bytes[point] !== POINT && bytes[point] !== COMMA) return point;
  let decimals = 0;
  while (isDigit(bytes[point + 1 + decimals] as number)) decimals += 1;
  return decimals >= 1 && decimals <= MOST_DECIMALS ? point + 1 + decimals : -1;
}

/** Where the offset of a time zone ends that begins here; -1 where none begins. */
function findOffsetEnd(bytes: Uint8Array, start: number): number {
  const sign = bytes[start];
  if (sign === CAPITAL_Z || sign === SMALL_Z) return start + 1;
  if ((sign !== PLUS && sign !== DASH) || !(readPair(bytes, start + 1) <= MOST_OFFSET_HOURS)) return -1;
  const at = bytes[start + 3] === COLON ? start + 4 : start + 3;
  if (readPair(bytes, at) <= 59) return at + 2;
  return at === start + 3 ? at : -1;
}

/** The number that two digits make, or NaN. */
function readPair(bytes: Uint8Array, at: number): number {
  const tens = bytes[at] as number;
  const ones = bytes[at + 1] as number;
  return isDigit(tens) && isDigit(ones) ? (tens - ZERO) * 10 + ones - ZERO : NaN;
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= ZERO + 9;
}
