import { skipSpace, skipString } from './slice-records.ts';

/** What becomes of one member of an object. */
export type MemberEdit =
  | { readonly kind: 'drop' }
  /** Puts another JSON value in the place of the member's; gets and gives JSON text. */
  | { readonly kind: 'replace'; readonly replace: (valueText: string) => string }
  /** Goes on inside of the member's value. */
  | { readonly kind: 'enter'; readonly find: FindEdit };

/** The edit of a member, by its name; undefined leaves it as it is. */
export type FindEdit = (name: string) => MemberEdit | undefined;

const QUOTE = 34;
const COMMA = 44;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

interface Cut {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Edits the members of a valid JSON text in place: what no edit names stays as written, byte for byte. Arrays
 * are looked through, and of a name written twice both members are edited.
 */
export function editMembers(text: string, find: FindEdit): string {
  const cuts: Cut[] = [];
  visitValue(text, skipSpace(text, 0), find, cuts);
  if (cuts.length === 0) return text;
  let edited = '';
  let at = 0;
  for (const cut of cuts) {
    edited += text.slice(at, cut.start) + cut.text;
    at = cut.end;
  }
  return edited + text.slice(at);
}

/** Visits the value that starts at `start` and returns where it ends. */
function visitValue(text: string, start: number, find: FindEdit, cuts: Cut[]): number {
  const code = text.charCodeAt(start);
  if (code === OPEN_BRACE) return visitObject(text, start, find, cuts);
  if (code === OPEN_BRACKET) return visitArray(text, start, find, cuts);
  return skipValue(text, start);
}

function visitArray(text: string, start: number, find: FindEdit, cuts: Cut[]): number {
  let at = skipSpace(text, start + 1);
  while (text.charCodeAt(at) !== CLOSE_BRACKET) {
    at = skipSpace(text, visitValue(text, at, find, cuts));
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
  return at + 1;
}

function visitObject(text: string, start: number, find: FindEdit, cuts: Cut[]): number {
  let keptEnd = start + 1;
  let at = skipSpace(text, keptEnd);
  while (text.charCodeAt(at) === QUOTE) {
    const nameEnd = skipString(text, at);
    const valueStart = skipSpace(text, skipSpace(text, nameEnd) + 1);
    const edit = find(readName(text, at, nameEnd));
    const end = visitMember(text, valueStart, edit, cuts);
    const after = skipSpace(text, end);
    const isLast = text.charCodeAt(after) !== COMMA;
    const next = isLast ? after : skipSpace(text, after + 1);
    if (edit?.kind !== 'drop') keptEnd = end;
    else if (isLast) dropLast(cuts, keptEnd, end);
    else cuts.push({ start: at, end: next, text: '' });
    at = next;
  }
  return at + 1;
}

function visitMember(text: string, start: number, edit: MemberEdit | undefined, cuts: Cut[]): number {
  if (edit?.kind === 'enter') return visitValue(text, start, edit.find, cuts);
  const end = skipValue(text, start);
  if (edit?.kind === 'replace') {
    const before = text.slice(start, end);
    const after = edit.replace(before);
    if (after !== before) cuts.push({ start, end, text: after });
  }
  return end;
}

// The comma before the last member goes with it, and with the members dropped right before it.
function dropLast(cuts: Cut[], keptEnd: number, end: number): void {
  while ((cuts.at(-1)?.start ?? -1) >= keptEnd) cuts.pop();
  cuts.push({ start: keptEnd, end, text: '' });
}

// A name may be written with escapes: "em\u0061il" is email.
function readName(text: string, start: number, end: number): string {
  const name = text.slice(start + 1, end - 1);
  return name.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : name;
}

function skipValue(text: string, start: number): number {
  let level = 0;
  let at = start;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = skipString(text, at);
      if (level === 0) return at;
      continue;
    }
    if (code === OPEN_BRACE || code === OPEN_BRACKET) level += 1;
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      if (level === 0) return at;
      level -= 1;
      if (level === 0) return at + 1;
    } else if (level === 0 && (code === COMMA || code <= 32)) return at;
    at += 1;
  }
  return at;
}
