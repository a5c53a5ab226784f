import { judgeNumber } from './judge-number.ts';

/** One record's own text, cut out of the page it came in, with what its reader must know. */
export interface RecordSlice {
  readonly text: string;
  /** True when a plain `JSON.parse` could round a number, so that `parseExact` must read it. */
  readonly hardNumbers: boolean;
  /** True when the engine's own reader gives the same values, and writes the same JSON of its arrays, as we do. */
  readonly plain: boolean;
  /** Object members written down; more than the parsed value has means a key came twice. */
  readonly members: number;
  /** Deepest nesting of objects and arrays; a scalar has 0. */
  readonly depth: number;
}

const QUOTE = 34;
const MINUS = 45;
const POINT = 46;
const ZERO = 48;
const NINE = 57;
const BACKSLASH = 92;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const COMMA = 44;
const COLON = 58;

// Fifteen significant digits always survive a double; a token this short cannot hold more.
const SAFE_NUMBER_LENGTH = 15;

/**
 * Cuts the elements of the array that starts at `start` out of `text`, which must be valid JSON
 * (checked by `JSON.parse` before). One pass; nothing is serialised again, so numbers stay as written.
 */
export function sliceArray(text: string, start: number): RecordSlice[] {
  return cutElements(text, start).slices;
}

/**
 * The elements of the array that a path of member names (or indexes of arrays) leads to, or undefined where
 * it leads to none. Of a name written twice the last counts, as in `JSON.parse`. The document must be valid
 * JSON; the array is read once, in the same pass.
 */
export function slicePath(text: string, path: readonly string[]): RecordSlice[] | undefined {
  return cutBelow(text, skipSpace(text, 0), path, 0).slices;
}

interface CutValue<T> {
  readonly slices: T;
  /** End of the value. */
  readonly end: number;
}

function cutBelow(
  text: string,
  start: number,
  path: readonly string[],
  depth: number,
): CutValue<RecordSlice[] | undefined> {
  const isArray = text.charCodeAt(start) === OPEN_BRACKET;
  if (depth === path.length && isArray) return cutElements(text, start);
  if (depth === path.length || !(isArray || text.charCodeAt(start) === OPEN_BRACE))
    return { slices: undefined, end: new ValueScan(text).findEnd(start) };
  let slices: RecordSlice[] | undefined;
  let at = skipSpace(text, start + 1);
  for (let index = 0; !isClosing(text.charCodeAt(at)); index += 1) {
    let name = String(index);
    if (!isArray) {
      const nameEnd = skipString(text, at);
      name = JSON.parse(text.slice(at, nameEnd)) as string;
      at = skipSpace(text, skipSpace(text, nameEnd) + 1);
    }
    if (name === path[depth]) ({ slices, end: at } = cutBelow(text, at, path, depth + 1));
    else at = new ValueScan(text).findEnd(at);
    at = skipSpace(text, at);
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
  return { slices, end: at + 1 };
}

function cutElements(text: string, start: number): CutValue<RecordSlice[]> {
  const slices: RecordSlice[] = [];
  let at = skipSpace(text, start + 1);
  while (!isClosing(text.charCodeAt(at))) {
    const scan = new ValueScan(text);
    const end = scan.findEnd(at);
    slices.push(toSlice(text.slice(at, end), scan));
    at = skipSpace(text, end);
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
  return { slices, end: at + 1 };
}

function isClosing(code: number): boolean {
  return code === CLOSE_BRACKET || code === CLOSE_BRACE;
}

function toSlice(slice: string, { hardNumbers, isOdd, members, depth }: ValueScan): RecordSlice {
  const text = flattenLines(slice);
  const plain = !isOdd && !(text.includes('\\u') && ODD_ESCAPE.test(text));
  return { text, hardNumbers, plain, members, depth };
}

// The engine refuses a whole file for half a surrogate pair, and spells control characters another way.
const ODD_ESCAPE = /\\u(?:00[01]|(?<!\\ud[89ab]..\\u)d[c-f]|d[89ab](?!..\\ud[c-f]))/i;

/** One pass over one value of a text, and what it saw. */
class ValueScan {
  hardNumbers = false;
  /** Something that the engine's reader and ours do not write down alike, or read alike. */
  isOdd = false;
  members = 0;
  depth = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** End of the value that starts at `start`. */
  findEnd(start: number): number {
    const text = this.#text;
    let level = 0;
    // Level of the outermost array around: only what is in one is ever written down again.
    let arrayLevel = 0;
    let stringStart = 0;
    let at = start;
    while (at < text.length) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        stringStart = at;
        at = skipString(text, at);
        if (level === 0) return at;
        continue;
      }
      if (code === OPEN_BRACE || code === OPEN_BRACKET) {
        level += 1;
        if (level > this.depth) this.depth = level;
        if (arrayLevel === 0 && code === OPEN_BRACKET) arrayLevel = level;
      } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
        if (level === 0) return at;
        if (level === arrayLevel) arrayLevel = 0;
        level -= 1;
        if (level === 0) return at + 1;
      } else if (code === COLON) {
        this.members += 1;
        if (arrayLevel > 0 && mayMove(text.charCodeAt(stringStart + 1))) this.isOdd = true;
      } else if ((code >= ZERO && code <= NINE) || code === MINUS) {
        at = this.#skipNumber(at, arrayLevel > 0);
        continue;
      } else if (level === 0 && (code === COMMA || code <= 32)) {
        return at;
      }
      at += 1;
    }
    return at;
  }

  #skipNumber(start: number, isInArray: boolean): number {
    const text = this.#text;
    let hasExponent = false;
    let hasPoint = false;
    let at = start + 1;
    for (;;) {
      const code = text.charCodeAt(at);
      if (code >= ZERO && code <= NINE) at += 1;
      else if (code === POINT) {
        hasPoint = true;
        at += 1;
      } else if ((code | 32) === 101) {
        // Its sign, if any, is not part of another number.
        hasExponent = true;
        at += 2;
      } else break;
    }
    const isMinusZero = at - start === 2 && text.startsWith('-0', start);
    const endsInZero = hasPoint && isInArray && text.charCodeAt(at - 1) === ZERO;
    if (at - start > SAFE_NUMBER_LENGTH || hasExponent || isMinusZero || endsInZero) {
      const kind = judgeNumber(text.slice(start, at), isInArray);
      this.hardNumbers ||= kind === 'long' || kind === 'hard';
      this.isOdd ||= kind !== 'double' && kind !== 'long';
    }
    return at;
  }
}

// Members whose names are indexes come first in an object of ours, and an escape may hide one.
function mayMove(firstOfName: number): boolean {
  return (firstOfName >= ZERO && firstOfName <= NINE) || firstOfName === BACKSLASH;
}

/** End of the string that starts at `start`. */
export function skipString(text: string, start: number): number {
  let at = start + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote === -1) return text.length;
    let slashes = 0;
    while (text.charCodeAt(quote - 1 - slashes) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

/** First place from `start` on that holds no white space. */
export function skipSpace(text: string, start: number): number {
  let at = start;
  while (text.charCodeAt(at) <= 32) at += 1;
  return at;
}

/** JSON on one line, as a staged record is: line breaks are only white space between its tokens. */
export function flattenLines(slice: string): string {
  return slice.includes('\n') || slice.includes('\r') ? slice.replace(/[\r\n]+/g, ' ') : slice;
}
