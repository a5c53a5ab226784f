import { isHexDigit, isSimpleEscape } from './json-grammar.ts';

const ZERO = 48;
const NINE = 57;
const BACKSLASH = 92;
const LETTER_D = 100;
const LETTER_U = 117;

/** Whether a word stands at a place. */
export function startsWith(bytes: Uint8Array, at: number, word: Uint8Array): boolean {
  for (let offset = 0; offset < word.length; offset += 1)
    if (bytes[at + offset] !== word[offset]) return false;
  return true;
}

/** First place from `start` on that holds no digit. */
export function skipDigits(bytes: Uint8Array, start: number): number {
  let at = start;
  for (let byte = bytes[at] as number; byte >= ZERO && byte <= NINE; byte = bytes[at] as number) at += 1;
  return at;
}

/** First place from `start` on that holds no space or tab. Pages are scanned without line breaks. */
export function skipBlanks(bytes: Uint8Array, start: number): number {
  let at = start;
  while (bytes[at] === 32 || bytes[at] === 9) at += 1;
  return at;
}

/** Last byte of the escape whose letter is at `start`; -1 for one that is not valid, or that JSON readers take differently. */
export function skipEscape(bytes: Uint8Array, start: number): number {
  const letter = bytes[start] as number;
  // Behind an escaped backslash, `u` looks like the escape it is not.
  if (letter === BACKSLASH && bytes[start + 1] === LETTER_U) return -1;
  if (isSimpleEscape(letter)) return start;
  if (letter !== LETTER_U) return -1;
  for (let at = start + 1; at <= start + 4; at += 1) if (!isHexDigit(bytes[at] as number)) return -1;
  const isControl = bytes[start + 1] === ZERO && bytes[start + 2] === ZERO && isBelowTwo(bytes[start + 3]);
  const isSurrogate = ((bytes[start + 1] as number) | 32) === LETTER_D && !isBelowEight(bytes[start + 2]);
  return isControl || isSurrogate ? -1 : start + 4;
}

function isBelowTwo(byte: number | undefined): boolean {
  return byte === ZERO || byte === ZERO + 1;
}

function isBelowEight(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte < ZERO + 8;
}
