/** One record's own text, cut out of the page it came in, with what its reader must know. */
export interface RecordSlice {
  readonly text: string;
  /** True when a plain `JSON.parse` could round a number, so that `parseExact` must read it. */
  readonly hardNumbers: boolean;
  /** Object members written down; more than the parsed value has means a key came twice. */
  readonly members: number;
  /** Deepest nesting of objects and arrays; a scalar has 0. */
  readonly depth: number;
}

const QUOTE = 34;
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
  const slices: RecordSlice[] = [];
  let at = skipSpace(text, start + 1);
  if (text.charCodeAt(at) === CLOSE_BRACKET) return slices;
  for (;;) {
    const scan = scanValue(text, at);
    slices.push(toSlice(text, at, scan));
    at = skipSpace(text, scan.end);
    if (text.charCodeAt(at) !== COMMA) return slices;
    at = skipSpace(text, at + 1);
  }
}

/** Cuts out the single value that starts at `start`. */
export function sliceValue(text: string, start: number): RecordSlice {
  const at = skipSpace(text, start);
  return toSlice(text, at, scanValue(text, at));
}

function toSlice(text: string, start: number, scan: ScannedValue): RecordSlice {
  const { hardNumbers, members, depth } = scan;
  return { text: flattenLines(text.slice(start, scan.end)), hardNumbers, members, depth };
}

/**
 * Position of the value at a path of member names (or indexes of arrays) below the value at `start`, or
 * undefined. Of a name written twice the last counts, as in `JSON.parse`.
 */
export function locateValue(text: string, start: number, path: readonly string[]): number | undefined {
  let at: number | undefined = skipSpace(text, start);
  for (const name of path) {
    if (at === undefined) return undefined;
    at = text.charCodeAt(at) === OPEN_BRACKET ? locateElement(text, at, name) : locateMember(text, at, name);
  }
  return at;
}

function locateMember(text: string, start: number, name: string): number | undefined {
  if (text.charCodeAt(start) !== OPEN_BRACE) return undefined;
  let found: number | undefined;
  let at = skipSpace(text, start + 1);
  while (text.charCodeAt(at) === QUOTE) {
    const keyEnd = skipString(text, at);
    const key = JSON.parse(text.slice(at, keyEnd)) as string;
    const valueStart = skipSpace(text, skipSpace(text, keyEnd) + 1);
    if (key === name) found = valueStart;
    at = skipSpace(text, scanValue(text, valueStart).end);
    if (text.charCodeAt(at) !== COMMA) break;
    at = skipSpace(text, at + 1);
  }
  return found;
}

function locateElement(text: string, start: number, index: string): number | undefined {
  if (!/^(?:0|[1-9]\d*)$/.test(index)) return undefined;
  let at = skipSpace(text, start + 1);
  for (let left = Number(index); left > 0; left -= 1) {
    at = skipSpace(text, scanValue(text, at).end);
    if (text.charCodeAt(at) !== COMMA) return undefined;
    at = skipSpace(text, at + 1);
  }
  return text.charCodeAt(at) === CLOSE_BRACKET ? undefined : at;
}

interface ScannedValue {
  readonly end: number;
  readonly hardNumbers: boolean;
  readonly members: number;
  readonly depth: number;
}

function scanValue(text: string, start: number): ScannedValue {
  let level = 0;
  let depth = 0;
  let members = 0;
  let hardNumbers = false;
  let at = start;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = skipString(text, at);
      if (level === 0) break;
      continue;
    }
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      level += 1;
      if (level > depth) depth = level;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      if (level === 0) break;
      level -= 1;
      if (level === 0) {
        at += 1;
        break;
      }
    } else if (code === COLON) {
      members += 1;
    } else if ((code >= 48 && code <= 57) || code === 45) {
      const end = skipNumber(text, at);
      hardNumbers ||= isHardToken(text, at, end);
      at = end;
      continue;
    } else if (level === 0 && (code === COMMA || code <= 32)) {
      break;
    }
    at += 1;
  }
  return { end: at, hardNumbers, members, depth };
}

function isHardToken(text: string, start: number, end: number): boolean {
  if (end - start <= SAFE_NUMBER_LENGTH && !hasExponent(text, start, end)) return false;
  // Most long numbers are doubles as a serializer writes them: they read back as the same text.
  const token = text.slice(start, end);
  const value = Number(token);
  return String(value) !== token || (isBeyondSafe(value) && !hasExponent(text, start, end));
}

// `parseExact` keeps these integers as text, whether a double hits them or not.
function isBeyondSafe(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}

// A short token can still overflow (1e400).
function hasExponent(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if ((text.charCodeAt(at) | 32) === 101) return true;
  return false;
}

function skipNumber(text: string, start: number): number {
  let at = start + 1;
  for (;;) {
    const code = text.charCodeAt(at);
    const part =
      (code >= 48 && code <= 57) || code === 46 || code === 43 || code === 45 || (code | 32) === 101;
    if (!part) return at;
    at += 1;
  }
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

// Raw line breaks are only white space between tokens in JSON; a staged record is one line.
function flattenLines(slice: string): string {
  return slice.includes('\n') || slice.includes('\r') ? slice.replace(/[\r\n]+/g, ' ') : slice;
}
