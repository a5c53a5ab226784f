import type { ColumnType } from '../model/schema.ts';
import { containerKinds, integerKinds, Kind, numberKinds } from './field-kinds.ts';

/** What a type decision needs to know of a field; FieldNode has it. */
export interface SeenValues {
  readonly kinds: number;
  readonly wholeDigits: number;
  readonly scale: number;
}

// The widest integer that is not an ExactNumber has this many digits.
const SAFE_INTEGER_DIGITS = 16;

/** The narrowest type that holds every value seen exactly. */
export function chooseType(seen: SeenValues): ColumnType {
  const kinds = seen.kinds & ~Kind.null;
  if (kinds === 0) return 'NULL';
  if ((kinds & containerKinds) !== 0) return 'JSON';
  switch (kinds) {
    case Kind.boolean:
      return 'BOOLEAN';
    case Kind.date:
      return 'DATE';
    case Kind.timestampWithZone:
      return 'TIMESTAMPTZ';
    case Kind.timestampWithoutZone:
      return 'TIMESTAMP';
  }
  return (kinds & ~numberKinds) === 0 ? chooseNumberType(kinds, seen) : 'VARCHAR';
}

function chooseNumberType(kinds: number, { wholeDigits, scale }: SeenValues): ColumnType {
  if ((kinds & ~integerKinds) === 0) return (kinds & Kind.hugeInteger) === 0 ? 'BIGINT' : 'HUGEINT';
  if ((kinds & ~(Kind.safeInteger | Kind.double)) === 0) return 'DOUBLE';
  const exactDecimals = (kinds & (Kind.double | Kind.hugeNumber)) === 0;
  const whole = Math.max(wholeDigits, (kinds & Kind.safeInteger) === 0 ? 0 : SAFE_INTEGER_DIGITS);
  // A double's digits are not counted while observing, so only text is sure to hold such a mixture.
  return exactDecimals && whole + scale <= 38 ? `DECIMAL(38,${scale})` : 'VARCHAR';
}

/** Kinds of value a column of this type holds without loss. */
export function kindsHeldBy(type: ColumnType): number {
  switch (type) {
    case 'NULL':
      return Kind.null;
    case 'BOOLEAN':
      return Kind.boolean;
    case 'BIGINT':
      return Kind.safeInteger | Kind.bigInteger;
    case 'HUGEINT':
      return integerKinds;
    case 'DOUBLE':
      return Kind.safeInteger | Kind.double;
    case 'DATE':
      return Kind.date;
    case 'TIMESTAMP':
      return Kind.timestampWithoutZone;
    case 'TIMESTAMPTZ':
      return Kind.timestampWithZone;
    case 'VARCHAR':
    case 'JSON':
      return ~0;
    default:
      // As far as its digits reach; see `holdsValue`.
      return integerKinds | Kind.decimal;
  }
}

// Existing values of the left type keep their exact meaning (and, for VARCHAR, their exact spelling)
// when cast to the right one; every other change gets a companion column instead.
const EXACT_CASTS: Readonly<Record<string, readonly string[]>> = {
  BOOLEAN: ['VARCHAR'],
  BIGINT: ['HUGEINT', 'DOUBLE', 'DECIMAL', 'VARCHAR'],
  HUGEINT: ['DECIMAL', 'VARCHAR'],
  DECIMAL: ['DECIMAL'],
  DATE: ['VARCHAR'],
};

/** True when a table's column may be cast from one type to the other, if its values survive the round trip. */
export function mayWiden(from: ColumnType, to: ColumnType): boolean {
  return (EXACT_CASTS[baseType(from)] ?? []).includes(baseType(to));
}

function baseType(type: ColumnType): string {
  return type.replace(/\(.*$/, '');
}

/**
 * The type a table's column needs once it also holds the values seen: the same one where they fit,
 * else the narrowest that holds both.
 */
export function widenType(existing: ColumnType, seen: SeenValues): ColumnType {
  const kinds = seen.kinds & ~Kind.null;
  if (existing === 'NULL') return chooseType(seen);
  if (fits(existing, seen, kinds)) return existing;
  return chooseType({ ...seen, kinds: kinds | impliedKinds(existing), ...digitsOf(existing, seen) });
}

function fits(existing: ColumnType, seen: SeenValues, kinds: number): boolean {
  if ((kinds & ~kindsHeldBy(existing)) !== 0) return false;
  const room = decimalRoom(existing);
  if (room === undefined) return true;
  const whole = Math.max(seen.wholeDigits, (kinds & Kind.safeInteger) === 0 ? 0 : SAFE_INTEGER_DIGITS);
  return seen.scale <= room.scale && whole <= room.whole;
}

function impliedKinds(type: ColumnType): number {
  switch (type) {
    case 'BIGINT':
      // Whether large integers are really in it, the round trip of the cast decides.
      return Kind.safeInteger;
    case 'HUGEINT':
      return Kind.hugeInteger;
    case 'DOUBLE':
      return Kind.double;
    case 'VARCHAR':
      return Kind.text;
    case 'JSON':
      return Kind.array;
    case 'NULL':
      return 0;
    case 'BOOLEAN':
    case 'DATE':
    case 'TIMESTAMP':
    case 'TIMESTAMPTZ':
      return kindsHeldBy(type);
    default:
      return Kind.decimal;
  }
}

function digitsOf(existing: ColumnType, seen: SeenValues): { wholeDigits: number; scale: number } {
  return {
    wholeDigits: existing === 'HUGEINT' ? 38 : seen.wholeDigits,
    scale: Math.max(seen.scale, decimalRoom(existing)?.scale ?? 0),
  };
}

/** Digits before and after the point that a DECIMAL type has room for; undefined for any other type. */
export function decimalRoom(
  type: ColumnType,
): { readonly whole: number; readonly scale: number } | undefined {
  const match = /^DECIMAL\((\d+),(\d+)\)$/.exec(type);
  if (match === null) return undefined;
  const [precision, scale] = [Number(match[1]), Number(match[2])];
  return { whole: precision - scale, scale };
}
