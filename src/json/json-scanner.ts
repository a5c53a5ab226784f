import {
  BACKSLASH,
  countMarkBytes,
  describeRefusal,
  isHexDigit,
  isSimpleEscape,
  isWholeNumber,
  nextInNumber,
  QUOTE,
  State,
} from './json-grammar.ts';
import { KeptText } from './kept-text.ts';
import { Utf8Check } from './utf8-check.ts';

export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'true' | 'false' | 'null';

/** Is told of the values of the containers it follows, the document itself first. Positions count bytes. */
export interface ScanListener {
  /** Name of the member whose value comes next; undefined for one too long to keep. */
  name(name: string | undefined): void;
  /** A value begins. True follows a container (tells what is in it), or asks for the text of a scalar. */
  begin(kind: JsonKind, at: number): boolean;
  /** It ended just before `at`. The text of a scalar, when `begin` asked for it, is at most 16 KiB of it. */
  end(at: number, text: string | undefined): void;
}

/** Why the bytes are not a JSON document, and which byte showed it. */
export interface JsonFlaw {
  readonly reason: string;
  readonly at: number;
}

/** Longest name or scalar whose text is kept, bytes. */
const MOST_KEPT_BYTES = 16 * 1024;
/** Deeper documents are refused: each level takes a byte of memory. */
const DEEPEST_LEVEL = 10_000_000;

/**
 * Reads one JSON document (RFC 8259) from chunks of any size and tells a listener where its values are. It
 * accepts exactly what `TextDecoder` and `JSON.parse` accept together, a byte order mark included, and keeps
 * nothing but a byte for each open level.
 */
export class JsonScanner {
  readonly #listener: ScanListener;
  readonly #utf8 = new Utf8Check();
  #state: number = State.value;
  /** Open containers; 1 marks an object. */
  #levels = new Uint8Array(64);
  #level = 0;
  /** Open containers that the listener follows; they are the outermost ones. */
  #followed = 0;
  /** Bytes of a byte order mark. */
  #markBytes = 0;
  /** Bytes before the current chunk. */
  #offset = 0;
  #isName = false;
  #hexLeft = 0;
  #literal = '';
  #literalAt = 0;
  readonly #kept = new KeptText(MOST_KEPT_BYTES);
  #flaw: JsonFlaw | undefined;

  constructor(listener: ScanListener) {
    this.#listener = listener;
  }

  get flaw(): JsonFlaw | undefined {
    return this.#flaw;
  }

  /** False once the bytes so far can be no JSON document, whatever follows. */
  push(chunk: Uint8Array): boolean {
    if (this.#flaw !== undefined) return false;
    if (!this.#utf8.push(chunk)) this.#fail('it is not UTF-8 text', 0);
    else this.#scan(chunk);
    this.#kept.endChunk(chunk);
    this.#offset += chunk.length;
    return this.#flaw === undefined;
  }

  /** Call after the last chunk: false when the document is not whole. */
  finish(): boolean {
    if (this.#flaw !== undefined) return false;
    if (!this.#utf8.finish()) this.#fail('it ends within a character', 0);
    else if (this.#level === 0 && isWholeNumber(this.#state)) this.#endScalar(EMPTY, 0);
    if (this.#flaw === undefined && this.#state !== State.done)
      this.#fail(this.#offset === 0 ? 'it is empty' : 'it ends too early', 0);
    return this.#flaw === undefined;
  }

  #scan(chunk: Uint8Array): void {
    const { length } = chunk;
    let at = 0;
    if (this.#markBytes === this.#offset) {
      at = countMarkBytes(chunk, this.#offset);
      this.#markBytes += at;
    }
    while (at < length && this.#flaw === undefined) {
      const state = this.#state;
      if (state <= State.done) at = this.#scanBetween(chunk, at);
      else if (state === State.string) at = this.#scanString(chunk, at);
      else if (state >= State.minus) at = this.#scanNumber(chunk, at);
      else if (state === State.literal) at = this.#scanLiteral(chunk, at);
      else at = this.#scanEscape(chunk, at);
    }
  }

  #scanBetween(chunk: Uint8Array, from: number): number {
    let at = from;
    const { length } = chunk;
    while (at < length) {
      const byte = chunk[at] as number;
      if (byte === 32 || byte === 10 || byte === 13 || byte === 9) {
        at += 1;
        continue;
      }
      switch (byte) {
        case QUOTE:
          return this.#beginString(at);
        case 44: // ,
          if (this.#state !== State.next) return this.#refuse(at);
          this.#state = this.#levels[this.#level - 1] === 1 ? State.name : State.value;
          break;
        case 58: // :
          if (this.#state !== State.colon) return this.#refuse(at);
          this.#state = State.value;
          break;
        case 123: // {
        case 91: // [
          if (this.#state > State.firstElement) return this.#refuse(at);
          this.#open(byte === 123, at);
          break;
        case 125: // }
          if (!this.#close(1, at)) return this.#refuse(at);
          break;
        case 93: // ]
          if (!this.#close(0, at)) return this.#refuse(at);
          break;
        default:
          return this.#beginScalar(byte, at);
      }
      at += 1;
    }
    return at;
  }

  #open(isObject: boolean, at: number): void {
    const level = this.#level;
    if (level >= DEEPEST_LEVEL) {
      this.#fail(`it is nested more than ${DEEPEST_LEVEL} levels deep`, at);
      return;
    }
    if (this.#followed === level && this.#listener.begin(isObject ? 'object' : 'array', this.#offset + at))
      this.#followed = level + 1;
    if (level === this.#levels.length) {
      const larger = new Uint8Array(level * 2);
      larger.set(this.#levels);
      this.#levels = larger;
    }
    this.#levels[level] = isObject ? 1 : 0;
    this.#level = level + 1;
    this.#state = isObject ? State.firstName : State.firstElement;
  }

  #close(kind: 0 | 1, at: number): boolean {
    const isEmpty = this.#state === (kind === 1 ? State.firstName : State.firstElement);
    if (!isEmpty && this.#state !== State.next) return false;
    if (this.#level === 0 || this.#levels[this.#level - 1] !== kind) return false;
    this.#level -= 1;
    if (this.#followed > this.#level) this.#followed = this.#level;
    if (this.#followed === this.#level) this.#listener.end(this.#offset + at + 1, undefined);
    this.#state = this.#level === 0 ? State.done : State.next;
    return true;
  }

  #beginString(at: number): number {
    const state = this.#state;
    if (state === State.firstName || state === State.name) {
      this.#isName = true;
      if (this.#followed === this.#level) this.#kept.begin(at);
    } else if (state <= State.firstElement) {
      this.#isName = false;
      this.#beginValue('string', at);
    } else return this.#refuse(at);
    this.#state = State.string;
    return at + 1;
  }

  #beginScalar(byte: number, at: number): number {
    if (this.#state > State.firstElement) return this.#refuse(at);
    if (byte === 45 || (byte >= 48 && byte <= 57)) {
      this.#beginValue('number', at);
      this.#state = byte === 45 ? State.minus : byte === 48 ? State.zero : State.digits;
      return at + 1;
    }
    const literal = byte === 116 ? 'true' : byte === 102 ? 'false' : byte === 110 ? 'null' : undefined;
    if (literal === undefined) return this.#refuse(at);
    this.#beginValue(literal, at);
    this.#literal = literal;
    this.#literalAt = 1;
    this.#state = State.literal;
    return at + 1;
  }

  #beginValue(kind: JsonKind, at: number): void {
    if (this.#followed === this.#level && this.#listener.begin(kind, this.#offset + at)) this.#kept.begin(at);
  }

  #scanString(chunk: Uint8Array, from: number): number {
    const { length } = chunk;
    for (let at = from; at < length; at += 1) {
      const byte = chunk[at] as number;
      if (byte === QUOTE) {
        if (this.#isName) this.#endName(chunk, at + 1);
        else this.#endScalar(chunk, at + 1);
        return at + 1;
      }
      if (byte === BACKSLASH) {
        this.#state = State.escape;
        return at + 1;
      }
      if (byte < 32) return this.#refuse(at);
    }
    return length;
  }

  #scanEscape(chunk: Uint8Array, at: number): number {
    const byte = chunk[at] as number;
    if (this.#state === State.hex) {
      if (!isHexDigit(byte)) return this.#refuse(at);
      this.#hexLeft -= 1;
      if (this.#hexLeft === 0) this.#state = State.string;
    } else if (byte === 117) {
      this.#state = State.hex;
      this.#hexLeft = 4;
    } else if (isSimpleEscape(byte)) this.#state = State.string;
    else return this.#refuse(at);
    return at + 1;
  }

  #scanLiteral(chunk: Uint8Array, from: number): number {
    let at = from;
    for (; at < chunk.length && this.#literalAt < this.#literal.length; at += 1, this.#literalAt += 1) {
      if (chunk[at] !== this.#literal.charCodeAt(this.#literalAt)) return this.#refuse(at);
    }
    if (this.#literalAt === this.#literal.length) this.#endScalar(chunk, at);
    return at;
  }

  #scanNumber(chunk: Uint8Array, from: number): number {
    let state = this.#state;
    let at = from;
    for (; at < chunk.length; at += 1) {
      const next = nextInNumber(state, chunk[at] as number);
      if (next === -1) {
        this.#state = state;
        if (!isWholeNumber(state)) return this.#refuse(at);
        this.#endScalar(chunk, at);
        return at;
      }
      state = next;
    }
    this.#state = state;
    return at;
  }

  #endName(chunk: Uint8Array, end: number): void {
    this.#state = State.colon;
    if (!this.#kept.isOpen) return;
    const { text, isCut } = this.#kept.take(chunk, end);
    // One that was cut would be mistaken for another.
    this.#listener.name(isCut ? undefined : (JSON.parse(text) as string));
  }

  #endScalar(chunk: Uint8Array, end: number): void {
    this.#state = this.#level === 0 ? State.done : State.next;
    if (this.#followed !== this.#level) return;
    const text = this.#kept.isOpen ? this.#kept.take(chunk, end).text : undefined;
    this.#listener.end(this.#offset + end, text);
  }

  #refuse(at: number): number {
    this.#fail(describeRefusal(this.#state), at);
    return at;
  }

  #fail(reason: string, at: number): void {
    this.#flaw = { reason, at: this.#offset + at };
  }
}

const EMPTY = new Uint8Array(0);
