import { isAscii, isUtf8 } from 'node:buffer';
import type { PageRecord, RecordBytes, SeenMembers, SeenPage } from '../model/page.ts';
import { parseExact } from './exact-number.ts';
import { type RecordBatch, readRecordRun } from './page-records.ts';
import { GIVE_UP, RecordScanner } from './record-scanner.ts';
import { flattenLines } from './slice-records.ts';

/** An answer whose records were read without being parsed. */
export interface ScannedAnswer extends RecordBatch {
  /** The document's value, but for its records: an array of something else is in their place. */
  readonly value: unknown;
}

// Larger answers are counted first: see `findExcess`.
const MOST_BYTES = 2 ** 20;
// An answer mostly of records that are parsed all the same is better parsed at once.
const PARSED_AT_LEAST = 8;
const PARSED_SHARE = 1 / 4;
const PLACEHOLDER = 'the records of this page';
const NOTHING_SEEN = new Int32Array(0);

const TAB = 9;
const LINE_FEED = 10;
const RETURN = 13;
const QUOTE = 34;
const COMMA = 44;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;

/**
 * Reads an answer whose records are in the array that a path of member names leads to. Undefined where that takes
 * a parser of everything: for anything unusual, and for whatever is not valid. `tooDeep` makes the error for
 * the record at an index that is nested too deep.
 */
export function scanPage(
  body: Buffer,
  path: readonly string[],
  tooDeep: (index: number, depth: number) => Error,
): ScannedAnswer | undefined {
  if (body.length > MOST_BYTES || !isUtf8(body)) return undefined;
  const [name] = path.slice(-1);
  const start = name === undefined ? findRoot(body) : findArray(body, name);
  if (start === -1) return undefined;
  const found = scanArray(body, start, tooDeep);
  if (found === undefined) return undefined;
  const value = parseAround(body, start, found.end, path);
  return value === undefined ? undefined : { value, ...found.batch };
}

/** Where the document begins that is an array itself. */
function findRoot(body: Buffer): number {
  const start = skipSpace(body, 0);
  return body[start] === OPEN_BRACKET ? start : -1;
}

/** Where the first array that is written under a name begins; whether it is the one asked for is seen later. */
function findArray(body: Buffer, name: string): number {
  const spelling = Buffer.from(JSON.stringify(name));
  const named = body.indexOf(spelling);
  if (named === -1) return -1;
  const colon = skipSpace(body, named + spelling.length);
  const start = skipSpace(body, colon + 1);
  return body[colon] === 58 && body[start] === OPEN_BRACKET ? start : -1;
}

/**
 * The document's value with a placeholder for the array between two positions; undefined where it is not valid, or
 * the path leads elsewhere. What stands between them is known to be an array: the document is then valid as a whole.
 */
function parseAround(body: Buffer, start: number, end: number, path: readonly string[]): unknown {
  const before = body.toString('utf8', 0, start);
  const after = body.toString('utf8', end);
  if (maySpellPlaceholder(before) || maySpellPlaceholder(after)) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(`${before}["${PLACEHOLDER}"]${after}`);
  } catch {
    return undefined;
  }
  let found = value;
  for (const name of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Record<string, unknown>)[name];
  }
  return Array.isArray(found) && found[0] === PLACEHOLDER ? value : undefined;
}

/** Whether a text of the document may be taken for the placeholder: escapes can spell it as well. */
function maySpellPlaceholder(text: string): boolean {
  return text.includes(PLACEHOLDER) || text.includes(String.raw`\u`);
}

/** What was found in the bytes of a page, while they are scanned. */
type PageOfBytes = { -readonly [Member in keyof SeenPage]: SeenPage[Member] };

/** A record that the scanner gave up on. */
interface HardRecord {
  /** Among all records of the page. */
  readonly index: number;
  readonly start: number;
  readonly end: number;
}

function scanArray(
  body: Buffer,
  start: number,
  tooDeep: (index: number, depth: number) => Error,
): { readonly end: number; readonly batch: RecordBatch } | undefined {
  const firstBreak = findBreak(body);
  const scanner = new RecordScanner(firstBreak === -1 ? body : replaceBreaks(body, firstBreak));
  const page: PageOfBytes = { source: body, names: scanner.names.all, seen: NOTHING_SEEN };
  const encoding = isAscii(body) ? 'latin1' : 'utf8';
  const scanned: PageRecord[] = [];
  const hard: HardRecord[] = [];
  let at = skipSpace(body, start + 1);
  for (;;) {
    // An empty array, or elements that are not objects, too.
    if (body[at] !== OPEN_BRACE) return undefined;
    const from = scanner.count;
    let end = scanner.scan(at);
    if (end !== GIVE_UP) {
      const { count: to, isExact: exact, isPlain: plain } = scanner;
      // Many pages have them around their records only.
      const hasBreaks = firstBreak !== -1 && firstBreak < end && findBreak(body.subarray(at, end)) !== -1;
      const place = { start: at, end, from, to, exact, plain, hasBreaks };
      scanned.push(new ScannedRecord(page, encoding, place));
    } else {
      const index = scanned.length + hard.length;
      if (hard.length + 1 > Math.max(PARSED_AT_LEAST, index * PARSED_SHARE)) return undefined;
      end = findEnd(body, at);
      hard.push({ index, start: at, end });
    }
    at = skipSpace(body, end);
    if (body[at] === CLOSE_BRACKET) break;
    if (body[at] !== COMMA) return undefined;
    at = skipSpace(body, at + 1);
  }
  page.seen = scanner.takeSeen();
  const batch = addHard(body, scanned, hard, tooDeep);
  return batch && { end: at + 1, batch };
}

/** Parses the records that were not scanned, and puts them in their places; undefined if one of them is not valid. */
function addHard(
  body: Buffer,
  scanned: readonly PageRecord[],
  hard: readonly HardRecord[],
  tooDeep: (index: number, depth: number) => Error,
): RecordBatch | undefined {
  const records = [...scanned];
  let duplicateMembers = 0;
  for (const { index, start, end } of hard) {
    const batch = parseRecord(body.toString('utf8', start, end), (_, depth) => tooDeep(index, depth));
    if (batch === undefined) return undefined;
    duplicateMembers += batch.duplicateMembers;
    records.splice(index, 0, ...batch.records);
  }
  return { records, duplicateMembers };
}

function parseRecord(
  text: string,
  tooDeep: (index: number, depth: number) => Error,
): RecordBatch | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  return readRecordRun(text, tooDeep);
}

interface Place {
  readonly start: number;
  readonly end: number;
  readonly exact: boolean;
  readonly plain: boolean;
  /** Whether there are line breaks between its tokens. */
  readonly hasBreaks: boolean;
  /** Where what was seen of it begins and ends. */
  readonly from: number;
  readonly to: number;
}

/** The first line break; -1 where there is none. */
function findBreak(bytes: Buffer): number {
  const feed = bytes.indexOf(LINE_FEED);
  const carriage = bytes.indexOf(RETURN);
  return feed === -1 || carriage === -1 ? Math.max(feed, carriage) : Math.min(feed, carriage);
}

/** The same with tabs in place of line breaks: texts may have neither, and names and values stay where they are. */
function replaceBreaks(body: Buffer, first: number): Buffer {
  const replaced = Buffer.from(body);
  for (let at = first; at < replaced.length; at += 1) {
    const byte = replaced[at];
    if (byte === LINE_FEED || byte === RETURN) replaced[at] = TAB;
  }
  return replaced;
}

/** A record that is still bytes of its page; text and value are made for who asks. One object each: there are many. */
class ScannedRecord implements PageRecord, RecordBytes, SeenMembers {
  readonly exact: boolean;
  readonly plain: boolean;
  readonly page: SeenPage;
  readonly start: number;
  readonly end: number;
  readonly from: number;
  readonly to: number;
  readonly #encoding: 'latin1' | 'utf8';
  readonly #hasBreaks: boolean;
  #value: unknown;
  /** Kept if it had line breaks, as that is the text asked for most often. */
  #text: string | undefined;

  constructor(page: SeenPage, encoding: 'latin1' | 'utf8', place: Place) {
    this.exact = place.exact;
    this.plain = place.plain;
    this.page = page;
    this.start = place.start;
    this.end = place.end;
    this.from = place.from;
    this.to = place.to;
    this.#encoding = encoding;
    this.#hasBreaks = place.hasBreaks;
  }

  get source(): Buffer {
    return this.page.source;
  }

  get text(): string {
    if (this.#text !== undefined) return this.#text;
    const text = this.source.toString(this.#encoding, this.start, this.end);
    return this.#hasBreaks ? (this.#text = flattenLines(text)) : text;
  }

  get value(): unknown {
    return (this.#value ??= this.exact ? parseExact(this.text) : (JSON.parse(this.text) as unknown));
  }

  get bytes(): RecordBytes | undefined {
    return this.#hasBreaks ? undefined : this;
  }

  get members(): SeenMembers {
    return this;
  }
}

/** End of an object of which nothing is known but where it begins; the end of the bytes where it has none. */
function findEnd(body: Buffer, start: number): number {
  let level = 0;
  for (let at = start; at < body.length; at += 1) {
    const byte = body[at] as number;
    if (byte === QUOTE) at = findStringEnd(body, at);
    // Brackets and braces differ in one bit each: 0x5b [ 0x7b { and 0x5d ] 0x7d }.
    else if ((byte | 32) === 0x7b) level += 1;
    else if ((byte | 32) === 0x7d) {
      level -= 1;
      if (level === 0) return at + 1;
    }
  }
  return body.length;
}

function findStringEnd(body: Buffer, start: number): number {
  for (let at = start + 1; at < body.length; at += 1) {
    if (body[at] === BACKSLASH) at += 1;
    else if (body[at] === QUOTE) return at;
  }
  return body.length;
}

function skipSpace(body: Buffer, start: number): number {
  let at = start;
  for (let byte = body[at]; byte === 32 || byte === 10 || byte === 13 || byte === 9; byte = body[at]) at += 1;
  return at;
}
