import { ExactNumber, isSafeAsDouble, parseExact } from './exact-number.ts';

// A NUL is only ever written in this way, so no text of a document without it begins like a marked number.
const MARK = '\u0000';
const ESCAPED_MARK = String.raw`\u0000`;
/** A shorter number without an exponent is always safe as a double. */
const LONG_NUMBER = 16;

const QUOTE = 34;
const MINUS = 45;
const BACKSLASH = 92;

/**
 * What `parseExact` gives, in a third of its time; only for JSON that is known to be valid, such as that of a JSON
 * column: in other texts it would take some mistakes for numbers.
 */
export function parseExactAgain(json: string): unknown {
  if (json.includes(ESCAPED_MARK)) return parseExact(json);
  const marked = markNumbers(json);
  return marked === undefined ? JSON.parse(json) : restoreNumbers(JSON.parse(marked));
}

/** The JSON with a marked text in place of each number that is not safe as a double; undefined if there is none. */
function markNumbers(json: string): string | undefined {
  const parts: string[] = [];
  let copied = 0;
  let at = 0;
  while (at < json.length) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = findTextEnd(json, at);
    else if (code !== MINUS && !isDigit(code)) at += 1;
    else {
      const start = at;
      let hasExponent = false;
      for (at += 1; isInNumber(json.charCodeAt(at)); at += 1) hasExponent ||= isExponent(json.charCodeAt(at));
      if (at - start < LONG_NUMBER && !hasExponent) continue;
      const source = json.slice(start, at);
      if (isSafeAsDouble(Number(source), source)) continue;
      parts.push(json.slice(copied, start), `"${ESCAPED_MARK}${source}"`);
      copied = at;
    }
  }
  return copied === 0 ? undefined : `${parts.join('')}${json.slice(copied)}`;
}

/** Behind the quote that ends a text. */
function findTextEnd(json: string, start: number): number {
  let at = json.indexOf('"', start + 1);
  while (isEscaped(json, at)) at = json.indexOf('"', at + 1);
  return at + 1;
}

function isEscaped(json: string, at: number): boolean {
  let first = at;
  while (json.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function isExponent(code: number): boolean {
  return (code | 32) === 101;
}

function isInNumber(code: number): boolean {
  return isDigit(code) || code === 46 || code === 43 || code === MINUS || isExponent(code);
}

function restoreNumbers(value: unknown): unknown {
  if (typeof value === 'string') return value.startsWith(MARK) ? new ExactNumber(value.slice(1)) : value;
  if (typeof value !== 'object' || value === null) return value;
  // A member of any name is the object's own, and so it stays when it is set.
  const members = value as Record<string, unknown>;
  for (const name of Object.keys(members)) {
    const before = members[name];
    const after = restoreNumbers(before);
    if (after !== before) members[name] = after;
  }
  return value;
}
