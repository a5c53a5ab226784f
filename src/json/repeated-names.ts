import { type JsonKind, JsonScanner, type ScanListener } from './json-scanner.ts';
import { joinPointer } from './pointer.ts';

/** A name that one object has more than once; `JSON.parse` keeps the last value only. */
export interface RepeatedName {
  /** JSON pointer to the member. */
  readonly pointer: string;
  /** Lines in which its values begin, counted from 1, in the order of the text. */
  readonly lines: readonly number[];
}

/** Every name that an object of a valid JSON text has more than once, the objects that end first before others. */
export function findRepeatedNames(text: string): readonly RepeatedName[] {
  const bytes = Buffer.from(text);
  const names = new NameWatch(bytes);
  new JsonScanner(names).push(bytes);
  return names.found;
}

/** Where the names stand, e.g. `in lines 3 and 9`. */
export function describeLines({ lines }: RepeatedName): string {
  const different = [...new Set(lines)];
  const last = different.at(-1) ?? 0;
  return different.length === 1
    ? `in line ${last}`
    : `in lines ${different.slice(0, -1).join(', ')} and ${last}`;
}

/** A value that has begun and not ended. */
interface OpenValue {
  /** Lines of each name so far; undefined for all but objects. */
  readonly names: Map<string, number[]> | undefined;
  /** Name or index of the value in it that comes next, or is open. */
  at: string | number;
}

const LINE_FEED = 10;
const RETURN = 13;

class NameWatch implements ScanListener {
  readonly found: RepeatedName[] = [];
  readonly #bytes: Buffer;
  readonly #open: OpenValue[] = [];
  #name: string | undefined;
  #line = 1;
  #counted = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  name(name: string | undefined): void {
    this.#name = name;
  }

  begin(kind: JsonKind, at: number): boolean {
    const parent = this.#open.at(-1);
    if (parent?.names !== undefined) this.#noteName(parent.names, parent, at);
    else if (typeof parent?.at === 'number') parent.at += 1;
    this.#open.push({ names: kind === 'object' ? new Map() : undefined, at: -1 });
    return kind === 'object' || kind === 'array';
  }

  end(): void {
    const ended = this.#open.pop();
    for (const [name, lines] of ended?.names ?? []) {
      if (lines.length === 1) continue;
      const path = [...this.#open.map(({ at }) => String(at)), name];
      this.found.push({ pointer: joinPointer(path), lines });
    }
  }

  #noteName(names: Map<string, number[]>, object: OpenValue, at: number): void {
    object.at = this.#name ?? '';
    // Too long to be kept, so not comparable.
    if (this.#name === undefined) return;
    const lines = names.get(this.#name);
    if (lines === undefined) names.set(this.#name, [this.#lineOf(at)]);
    else lines.push(this.#lineOf(at));
  }

  /** Positions only grow: each byte is looked at once. */
  #lineOf(at: number): number {
    for (; this.#counted < at; this.#counted += 1) {
      const byte = this.#bytes[this.#counted];
      const isBreak = byte === LINE_FEED || (byte === RETURN && this.#bytes[this.#counted + 1] !== LINE_FEED);
      if (isBreak) this.#line += 1;
    }
    return this.#line;
  }
}
