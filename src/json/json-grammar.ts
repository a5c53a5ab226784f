/** What may come next in a document: up to `done` between tokens, from `string` on inside one, from `minus` on in a number. */
export const State = {
  value: 0,
  firstElement: 1,
  firstName: 2,
  name: 3,
  colon: 4,
  next: 5,
  done: 6,
  string: 7,
  escape: 8,
  hex: 9,
  literal: 10,
  minus: 11,
  zero: 12,
  digits: 13,
  point: 14,
  fraction: 15,
  exponent: 16,
  exponentSign: 17,
  exponentDigits: 18,
} as const;

export const QUOTE = 34;
export const BACKSLASH = 92;

const EXPECTED: Readonly<Record<number, string>> = {
  [State.value]: 'a value was expected',
  [State.firstElement]: 'a value or ] was expected',
  [State.firstName]: 'a name in quotes or } was expected',
  [State.name]: 'a name in quotes was expected',
  [State.colon]: 'a colon was expected',
  [State.next]: 'a comma or the end of the array or object was expected',
  [State.done]: 'the document had ended',
  [State.string]: 'a control character in a text',
  [State.escape]: 'an unknown escape in a text',
  [State.hex]: 'a hexadecimal digit was expected',
};

/** What was wrong with a byte that came in this state. */
export function describeRefusal(state: number): string {
  return EXPECTED[state] ?? 'a number or a word is not whole';
}

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** Bytes of a byte order mark at the start of a chunk that begins at `position` of its document. */
export function countMarkBytes(chunk: Uint8Array, position: number): number {
  let count = 0;
  while (position + count < 3 && chunk[count] === BYTE_ORDER_MARK[position + count]) count += 1;
  return count;
}

/** State after one more byte of a number; -1 when the byte is not part of it. */
export function nextInNumber(state: number, byte: number): number {
  if (byte >= 48 && byte <= 57) {
    if (state === State.digits || state === State.fraction || state === State.exponentDigits) return state;
    if (state === State.minus) return byte === 48 ? State.zero : State.digits;
    if (state === State.point) return State.fraction;
    return state === State.zero ? -1 : State.exponentDigits;
  }
  if (byte === 46) return state === State.zero || state === State.digits ? State.point : -1;
  if ((byte | 32) === 101)
    return state === State.zero || state === State.digits || state === State.fraction ? State.exponent : -1;
  if (byte === 43 || byte === 45) return state === State.exponent ? State.exponentSign : -1;
  return -1;
}

/** Whether a number may end in this state. */
export function isWholeNumber(state: number): boolean {
  return (
    state === State.zero ||
    state === State.digits ||
    state === State.fraction ||
    state === State.exponentDigits
  );
}

export function isHexDigit(byte: number): boolean {
  return (byte >= 48 && byte <= 57) || ((byte | 32) >= 97 && (byte | 32) <= 102);
}

/** One of `" \ / b f n r t`. */
export function isSimpleEscape(byte: number): boolean {
  return (
    byte === QUOTE ||
    byte === BACKSLASH ||
    byte === 47 ||
    byte === 98 ||
    byte === 102 ||
    byte === 110 ||
    byte === 114 ||
    byte === 116
  );
}
