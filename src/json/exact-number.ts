/**
 * A JSON number whose text a double cannot hold exactly: 2^53 + 1, 1e400, thirty digits; also any integer
 * beyond 2^53 written in digits. It keeps the text as received and writes it back verbatim in
 * `JSON.stringify`.
 */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toJSON(): unknown {
    return rawJson(this.text);
  }
}

/** A number as JSON gave it. */
export type JsonNumber = number | ExactNumber;

/** True for a JSON number, also one that a double could not hold. */
export function isJsonNumber(value: unknown): value is JsonNumber {
  return typeof value === 'number' || value instanceof ExactNumber;
}

// JSON.rawJSON is in Node >= 21 and not yet in TypeScript's library.
function rawJson(text: string): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);
}

type SourceReviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

/** Parses JSON text like `JSON.parse`, but numbers that are safer as text come back as ExactNumber. */
export function parseExact(text: string): unknown {
  const keepExact: SourceReviver = (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && !isSafeAsDouble(value, source)
      ? new ExactNumber(source)
      : value;
  return JSON.parse(text, keepExact as (this: unknown, key: string, value: unknown) => unknown);
}

/** True when the double `value`, read from `source`, may stand for it, also in a column of ids. */
export function isSafeAsDouble(value: number, source: string): boolean {
  // Some integers beyond 2^53 are doubles and their neighbours are not: a column of ids needs one type.
  if (Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(source)) return false;
  return isExactAsDouble(value, source);
}

const HAS_EXPONENT = /[eE]/;

/** True when the double `value`, read from `source`, is the number the source wrote down. */
export function isExactAsDouble(value: number, source: string): boolean {
  if (!Number.isFinite(value)) return false;
  // Fifteen digits always survive; a short exponent may still be below what a double reaches (1e-400).
  if (source.length <= 15 && !HAS_EXPONENT.test(source)) return true;
  const spelled = Object.is(value, -0) ? '-0' : String(value);
  // A serializer mostly writes what this does.
  if (spelled === source) return true;
  if (HAS_EXPONENT.test(source) || spelled.includes('e'))
    return normalizeDecimal(source) === normalizeDecimal(spelled);
  return source.includes('.') && trimEndZeros(source).replace(/\.$/, '') === spelled;
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** One spelling for each decimal value: sign, digits without outer zeros, power of ten. */
export function normalizeDecimal(source: string): string {
  const match = NUMBER.exec(source);
  if (match === null) return source;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const digits = (whole + fraction).replace(/^0+/, '');
  const trimmed = trimEndZeros(digits);
  if (trimmed === '') return `${sign}0`;
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - trimmed.length);
  return `${sign}${trimmed}e${power}`;
}

// A loop, since `/0+$/` takes quadratic time on zeros in the middle of a long number.
function trimEndZeros(digits: string): string {
  let end = digits.length;
  while (digits.charCodeAt(end - 1) === 48) end -= 1;
  return digits.slice(0, end);
}
