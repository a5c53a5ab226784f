/**
 * The kinds of value a field was seen to hold, as bits, so that observing a value is one `|=` and the
 * union over a scan does not depend on the order of its records.
 */
export const Kind = {
  null: 1,
  boolean: 2,
  /** Integer within ±(2^53 - 1). */
  safeInteger: 4,
  /** Integer beyond that, within 64 bits. */
  bigInteger: 8,
  /** Integer beyond 64 bits, within 128. */
  hugeInteger: 16,
  /** Number that a double holds exactly as written, and no integer (or -0). */
  double: 32,
  /** Number a double would round, with at most 38 digits. */
  decimal: 64,
  /** Number that nothing but text can hold. */
  hugeNumber: 128,
  date: 256,
  /** ISO timestamp with Z or an offset. */
  timestampWithZone: 512,
  /** ISO timestamp without one. */
  timestampWithoutZone: 1024,
  text: 2048,
  array: 4096,
  object: 8192,
} as const;

export const integerKinds = Kind.safeInteger | Kind.bigInteger | Kind.hugeInteger;
export const numberKinds = integerKinds | Kind.double | Kind.decimal | Kind.hugeNumber;
export const stringKinds = Kind.date | Kind.timestampWithZone | Kind.timestampWithoutZone | Kind.text;
export const containerKinds = Kind.array | Kind.object;

export const INT64_MAX = 2n ** 63n - 1n;
export const INT128_MAX = 2n ** 127n - 1n;

/** Kind of a number whose exact text is `source` (see ExactNumber). */
export function classifyExactNumber(source: string): { kind: number; whole: number; scale: number } {
  const plain = /^(-?)(\d+)(?:\.(\d+))?$/.exec(source);
  // Exponents this exact parser met are beyond what columns hold; text keeps them.
  if (plain === null) return { kind: Kind.hugeNumber, whole: 0, scale: 0 };
  const [, sign = '', digits = '', fraction] = plain;
  if (fraction === undefined) {
    if (digits.length > 39) return { kind: Kind.hugeNumber, whole: 0, scale: 0 };
    const magnitude = BigInt(digits);
    const limit = sign === '-' ? 1n : 0n;
    if (magnitude <= INT64_MAX + limit) return { kind: Kind.bigInteger, whole: digits.length, scale: 0 };
    // -2^127 itself is left out: the engine's own limit is the symmetric one.
    if (magnitude <= INT128_MAX) return { kind: Kind.hugeInteger, whole: digits.length, scale: 0 };
    return { kind: Kind.hugeNumber, whole: 0, scale: 0 };
  }
  const whole = digits.replace(/^0+(?=\d)/, '').length;
  const scale = fraction.length;
  if (whole + scale > 38) return { kind: Kind.hugeNumber, whole: 0, scale: 0 };
  return { kind: Kind.decimal, whole, scale };
}
