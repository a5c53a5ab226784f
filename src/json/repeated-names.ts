import { joinPointer } from './pointer.ts';
import { skipString } from './slice-records.ts';

/** A name that one object has more than once; `JSON.parse` keeps the last value only. */
export interface RepeatedName {
  /** JSON pointer to the member. */
  readonly pointer: string;
  /** Lines of all its names, counted from 1, in the order of the text. */
  readonly lines: readonly number[];
}

interface Container {
  /** Positions of each name so far; undefined for an array. */
  readonly names: Map<string, number[]> | undefined;
  /** Name or index of the value that comes next. */
  at: string | number;
}

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/** Every name that an object of a valid JSON text has more than once, the objects that end first before others. */
export function findRepeatedNames(text: string): readonly RepeatedName[] {
  const open: Container[] = [];
  const found: RepeatedName[] = [];
  let isName = false;
  for (let at = 0; at < text.length; at += 1) {
    const container = open.at(-1);
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = skipString(text, at);
        if (isName && container !== undefined) noteName(container, text.slice(at, end), at);
        at = end - 1;
        break;
      }
      case COLON:
        isName = false;
        break;
      case COMMA:
        isName = container?.names !== undefined;
        if (typeof container?.at === 'number') container.at += 1;
        break;
      case OPEN_BRACE:
        open.push({ names: new Map(), at: '' });
        isName = true;
        break;
      case OPEN_BRACKET:
        open.push({ names: undefined, at: 0 });
        isName = false;
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        open.pop();
        for (const [name, places] of container?.names ?? []) {
          if (places.length === 1) continue;
          const path = [...open.map((outer) => String(outer.at)), name];
          found.push({ pointer: joinPointer(path), lines: places.map((place) => lineOf(text, place)) });
        }
    }
  }
  return found;
}

/** Where the names stand, e.g. `in lines 3 and 9`. */
export function describeLines({ lines }: RepeatedName): string {
  const different = [...new Set(lines)];
  const last = different.at(-1) ?? 0;
  return different.length === 1
    ? `in line ${last}`
    : `in lines ${different.slice(0, -1).join(', ')} and ${last}`;
}

function noteName(container: Container, spelling: string, position: number): void {
  // A name may be written with escapes.
  const name = JSON.parse(spelling) as string;
  container.at = name;
  const places = container.names?.get(name);
  if (places === undefined) container.names?.set(name, [position]);
  else places.push(position);
}

function lineOf(text: string, place: number): number {
  return text.slice(0, place).split(/\r\n|\r|\n/).length;
}
