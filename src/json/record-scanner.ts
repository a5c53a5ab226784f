import { packSeen, SEEN_SIZE, SeenKind } from '../model/page.ts';
import { skipBlanks, skipDigits, skipEscape, startsWith } from './byte-steps.ts';
import { isSafeWhole, isShortestDecimal } from './decimal-check.ts';
import { judgeNumber } from './judge-number.ts';
import { type KnownMember, takeRecentNames } from './member-names.ts';

const QUOTE = 34;
const PLUS = 43;
const COMMA = 44;
const MINUS = 45;
const POINT = 46;
const ZERO = 48;
const NINE = 57;
const COLON = 58;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

// A number of fifteen characters survives a double; a longer one has to be looked at.
const SAFE_NUMBER_LENGTH = 15;
// Deeper objects stay whole, as JSON.
const MOST_LEVELS = 5;
// Of arrays, and of objects in them.
const MOST_INSIDE = 20;

/** What the scanner answers in place of an end: the record is in order perhaps, but not for this reader. */
export const GIVE_UP = -1;

/** Of bytes within a string: those that end it, or need a look. */
const NEEDS_LOOK = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 32 || byte === QUOTE || byte === BACKSLASH || byte >= 128 ? 1 : 0,
);

// One page is read at a time, and without a pause: what is noted of it needs one place for all pages.
let seen = new Int32Array(1 << 14);
// Objects read so far, of all pages: names that pages share tell by it whether an object had them before.
let objects = 0;

/**
 * Reads JSON objects out of the bytes of a UTF-8 text: checks them, finds their ends, and notes each member's kind and
 * place. It makes no values, which is where most of the time of `JSON.parse` goes. It knows what nearly every
 * record is made of, and gives up on the rest: half surrogate pairs, control characters, repeated members; also line
 * breaks between tokens. Of an array the kind and the place are noted, and the members of the objects that are its elements.
 */
export class RecordScanner {
  readonly names = takeRecentNames();
  readonly #bytes: Buffer;
  /** The name that is looked for; one object for all names, which are many. */
  readonly #name: { readonly bytes: Buffer; start: number; end: number };
  #count = 0;
  #kind = 0;
  #isExact = false;
  #isPlain = true;
  /** The page, a character for each byte; undefined until an unusual number is met. */
  #text: string | undefined;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#name = { bytes, start: 0, end: 0 };
  }

  /** How many numbers were noted so far. */
  get count(): number {
    return this.#count;
  }

  /** Whether the last record has a number that only an exact parser reads right. */
  get isExact(): boolean {
    return this.#isExact;
  }

  /** Whether the engine's own reader gives the values of the last record, and writes the JSON of its arrays as we do. */
  get isPlain(): boolean {
    return this.#isPlain;
  }

  /** What was noted of all records. */
  takeSeen(): Int32Array {
    return seen.slice(0, this.#count);
  }

  /** End of the object at `start`, or GIVE_UP, and then nothing is noted of it. */
  scan(start: number): number {
    const before = this.#count;
    this.#isExact = false;
    this.#isPlain = true;
    const end = this.#scanObject(start, this.names.root, 0);
    if (end === GIVE_UP) this.#count = before;
    return end;
  }

  /** `inside` is how many arrays, and objects in them, it is in. */
  #scanObject(start: number, parent: KnownMember, inside: number): number {
    const bytes = this.#bytes;
    objects += 1;
    const object = objects;
    let at = skipBlanks(bytes, start + 1);
    if (bytes[at] === CLOSE_BRACE) return at + 1;
    for (let position = 0; ; position += 1) {
      const member = this.#findMember(parent, position, at);
      if (member === undefined || member.lastObject === object) return GIVE_UP;
      member.lastObject = object;
      at = skipBlanks(bytes, at + member.spelling.length);
      if (bytes[at] !== COLON) return GIVE_UP;
      at = skipBlanks(bytes, at + 1);
      if (inside === 0) at = this.#scanMember(at, member, position);
      else if (parent.isNoted) at = this.#scanInner(at, member, position, inside);
      else at = this.#scanValue(at, member, inside);
      if (at === GIVE_UP) return GIVE_UP;
      at = skipBlanks(bytes, at);
      if (bytes[at] === CLOSE_BRACE) return at + 1;
      if (bytes[at] !== COMMA) return GIVE_UP;
      at = skipBlanks(bytes, at + 1);
    }
  }

  #findMember(parent: KnownMember, position: number, at: number): KnownMember | undefined {
    const expected = parent.expected[position];
    if (expected !== undefined && startsWith(this.#bytes, at, expected.spelling)) return expected;
    if (this.#bytes[at] !== QUOTE) return undefined;
    const end = this.#scanString(at);
    if (end === GIVE_UP || this.#kind === SeenKind.escaped) return undefined;
    this.#name.start = at;
    this.#name.end = end;
    return this.names.find(parent, position, this.#name);
  }

  #scanMember(start: number, member: KnownMember, position: number): number {
    const noted = this.#note(start);
    if (this.#bytes[start] === OPEN_BRACE) {
      if (member.level >= MOST_LEVELS) return GIVE_UP;
      const end = this.#scanObject(start, member, 0);
      this.#complete(noted, packSeen(member.id, position, SeenKind.object), end);
      return end;
    }
    const end = this.#scanValue(start, member, 0);
    this.#complete(noted, packSeen(member.id, position, this.#kind), end);
    return end;
  }

  /** The same for a member of an object that is in an array. */
  #scanInner(start: number, member: KnownMember, position: number, inside: number): number {
    const noted = this.#note(start);
    const end = this.#scanValue(start, member, inside);
    const kind = this.#bytes[start] === OPEN_BRACE ? SeenKind.object : this.#kind;
    this.#complete(noted, packSeen(member.id, position, kind), end);
    return end;
  }

  #note(start: number): number {
    const at = this.#count;
    if (at + SEEN_SIZE > seen.length) {
      const larger = new Int32Array(seen.length * 2);
      larger.set(seen);
      seen = larger;
    }
    seen[at + 1] = start;
    this.#count = at + SEEN_SIZE;
    return at;
  }

  #complete(noted: number, what: number, end: number): void {
    seen[noted] = what;
    seen[noted + 2] = end;
  }

  /** Scans the value of a member, or an element of the arrays that it holds; an object only if it is in one. */
  #scanValue(start: number, member: KnownMember, inside: number): number {
    const byte = this.#bytes[start] as number;
    if (byte === QUOTE) return this.#scanString(start);
    if (byte === MINUS || (byte >= ZERO && byte <= NINE)) return this.#scanNumber(start, inside > 0);
    if (byte === OPEN_BRACKET) return inside < MOST_INSIDE ? this.#scanArray(start, member, inside) : GIVE_UP;
    if (byte !== OPEN_BRACE) return this.#scanWord(start);
    return inside < MOST_INSIDE ? this.#scanObject(start, member, inside + 1) : GIVE_UP;
  }

  #scanArray(start: number, member: KnownMember, inside: number): number {
    const bytes = this.#bytes;
    let at = skipBlanks(bytes, start + 1);
    let hasObjects = false;
    let hasOthers = false;
    if (bytes[at] !== CLOSE_BRACKET) {
      const elements = this.names.findElements(member);
      for (;;) {
        if (bytes[at] === OPEN_BRACE) hasObjects = true;
        else if (bytes[at] !== LETTER_N) hasOthers = true;
        at = this.#scanValue(at, elements, inside + 1);
        if (at === GIVE_UP) return GIVE_UP;
        at = skipBlanks(bytes, at);
        if (bytes[at] === CLOSE_BRACKET) break;
        if (bytes[at] !== COMMA) return GIVE_UP;
        at = skipBlanks(bytes, at + 1);
      }
    }
    this.#kind = !hasObjects ? SeenKind.array : hasOthers ? SeenKind.mixed : SeenKind.objects;
    return at + 1;
  }

  #scanString(start: number): number {
    const bytes = this.#bytes;
    this.#kind = SeenKind.string;
    for (let at = start + 1; ; at += 1) {
      while (NEEDS_LOOK[bytes[at] as number] === 0) at += 1;
      const byte = bytes[at];
      if (byte === QUOTE) return at + 1;
      // The end of the bytes, or a control character.
      if (byte === undefined || byte < 32) return GIVE_UP;
      if (byte >= 128) {
        if (this.#kind === SeenKind.string) this.#kind = SeenKind.wide;
        continue;
      }
      this.#kind = SeenKind.escaped;
      at = skipEscape(this.#bytes, at + 1);
      if (at === -1) return GIVE_UP;
    }
  }

  #scanNumber(start: number, isInArray: boolean): number {
    const bytes = this.#bytes;
    const first = bytes[start] === MINUS ? start + 1 : start;
    let at = skipDigits(bytes, first);
    if (at === first || (bytes[first] === ZERO && at > first + 1)) return GIVE_UP;
    let isFraction = false;
    if (bytes[at] === POINT) {
      isFraction = true;
      const from = at + 1;
      at = skipDigits(bytes, from);
      if (at === from) return GIVE_UP;
    }
    if (((bytes[at] as number) | 32) === LETTER_E) return this.#scanExponent(start, at, isInArray);
    const endsInZero = bytes[at - 1] === ZERO;
    if (at - start > SAFE_NUMBER_LENGTH) {
      const isUsual = isFraction ? isShortestDecimal : isSafeWhole;
      if (!isUsual(bytes, start, at)) return this.#judge(start, at, isInArray);
    } else if (isFraction ? endsInZero && isInArray : first > start && bytes[first] === ZERO) {
      return this.#judge(start, at, isInArray);
    }
    this.#kind = !isFraction ? SeenKind.integer : endsInZero ? SeenKind.number : SeenKind.fraction;
    return at;
  }

  /** `at` is the letter of the exponent. */
  #scanExponent(start: number, at: number, isInArray: boolean): number {
    const bytes = this.#bytes;
    const hasSign = bytes[at + 1] === MINUS || bytes[at + 1] === PLUS;
    const from = hasSign ? at + 2 : at + 1;
    const end = skipDigits(bytes, from);
    return end === from ? GIVE_UP : this.#judge(start, end, isInArray);
  }

  #judge(start: number, end: number, isInArray: boolean): number {
    // The text of the page is made once: a call for each number takes longer than all of the rest.
    this.#text ??= this.#bytes.toString('latin1');
    const kind = judgeNumber(this.#text.slice(start, end), isInArray);
    if (kind === 'turned') return GIVE_UP;
    if (kind === 'odd' || kind === 'hard') this.#isPlain = false;
    const isExact = kind === 'long' || kind === 'hard';
    if (isExact) this.#isExact = true;
    this.#kind = isExact ? SeenKind.exact : SeenKind.number;
    return end;
  }

  #scanWord(start: number): number {
    for (const { word, kind } of WORDS) {
      if (!startsWith(this.#bytes, start, word)) continue;
      this.#kind = kind;
      return start + word.length;
    }
    return GIVE_UP;
  }
}

const LETTER_E = 101;
const LETTER_N = 110;

const WORDS = [
  { word: Buffer.from('true'), kind: SeenKind.boolean },
  { word: Buffer.from('false'), kind: SeenKind.boolean },
  { word: Buffer.from('null'), kind: SeenKind.null },
];
