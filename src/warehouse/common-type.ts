import { spellValue, toJson } from './retype-column.ts';

/** A type for the values of columns of several types. */
export interface CommonType {
  /** Holds every value that the columns can have. */
  readonly type: string;
  /** A type for numbers that holds only some of them. It is the better choice if it holds the values at hand. */
  readonly ifHeld: string | undefined;
}

/** Digits before the point that the integer types can hold. */
const WHOLE_DIGITS: Readonly<Record<string, number>> = { INTEGER: 10, BIGINT: 19, HUGEINT: 39 };
const MOST_DIGITS = 38;
/** Up to this value a double holds every whole number. */
const SAFE_DOUBLE = 2 ** 53;

/**
 * The type that columns of these engine types have in common. No value changes in it: a double never replaces a
 * whole number that it would round, nor midnight a date. What no type holds becomes text in the format of the API,
 * and JSON holds any value.
 */
export function chooseCommonType(types: ReadonlySet<string>): CommonType {
  const [only = 'VARCHAR', ...more] = types;
  if (more.length === 0) return surely(only);
  if (types.has('JSON')) return surely('JSON');
  const numbers = [...types].map(describeNumber);
  if (!numbers.every((one) => one !== undefined)) return surely('VARCHAR');
  const scale = Math.max(...numbers.map((one) => one.scale));
  const isWhole = scale === 0;
  if (types.has('DOUBLE')) return { type: 'VARCHAR', ifHeld: isWhole ? 'DOUBLE' : undefined };
  const whole = Math.max(...numbers.map((one) => one.whole));
  if (isWhole && types.has('HUGEINT')) return surely('HUGEINT');
  if (isWhole && [...types].every((type) => type in WHOLE_DIGITS)) return surely('BIGINT');
  const decimal = `DECIMAL(${MOST_DIGITS},${scale})`;
  return whole + scale <= MOST_DIGITS ? surely(decimal) : { type: 'VARCHAR', ifHeld: decimal };
}

function surely(type: string): CommonType {
  return { type, ifHeld: undefined };
}

/** Digits that a number type can hold; none are promised for a double. Undefined for any other type. */
function describeNumber(type: string): { readonly whole: number; readonly scale: number } | undefined {
  if (type === 'DOUBLE') return { whole: 0, scale: 0 };
  const whole = WHOLE_DIGITS[type];
  if (whole !== undefined) return { whole, scale: 0 };
  const [, precision, scale] = /^DECIMAL\((\d+),(\d+)\)$/.exec(type) ?? [];
  if (precision === undefined) return undefined;
  return { whole: Number(precision) - Number(scale), scale: Number(scale) };
}

/** SQL for a column's values in a common type. */
export function convertTo(column: string, from: string, to: string): string {
  if (from === to) return column;
  if (to === 'VARCHAR') return spellValue(column, from);
  return to === 'JSON' ? toJson(column, from, spellValue(column, from)) : `CAST(${column} AS ${to})`;
}

/** SQL: whether a value is the same in `ifHeld` of a common type; NULL for NULL. */
export function isHeldBy(column: string, from: string, to: string): string {
  if (from === to) return 'true';
  return to === 'DOUBLE'
    ? `${column} BETWEEN -${SAFE_DOUBLE} AND ${SAFE_DOUBLE}`
    : `(${column} IS NULL OR TRY_CAST(${column} AS ${to}) IS NOT NULL)`;
}
