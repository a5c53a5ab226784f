import { createReadStream } from 'node:fs';
import { parseExact } from '../json/exact-number.ts';
import { assertNotAborted } from '../model/abort.ts';
import type { PageRecord, RecordBytes } from '../model/page.ts';

/** A staged record: its position in the scan and its value. */
export interface StagedRecord {
  readonly position: number;
  readonly value: unknown;
  /** The record as received. */
  readonly text: string;
}

// The first name behind the position shows who may read a record; the engine reads only those under `r`.
const ENGINE = 'r';
const PARSER = 'p';
const EXACT = 'x';
/** Who parses it has to do so exactly, and the engine may read it too: the record follows under `r`. */
const BOTH = 'e';
const OPENING = '{"i":';
const OPENING_BYTES = Buffer.from(OPENING);
const READER_BYTES = {
  [ENGINE]: Buffer.from(`,"${ENGINE}":`),
  [PARSER]: Buffer.from(`,"${PARSER}":`),
  [EXACT]: Buffer.from(`,"${EXACT}":`),
  [BOTH]: Buffer.from(`,"${BOTH}":0,"${ENGINE}":`),
} as const;
const PLAIN_LENGTH = READER_BYTES[ENGINE].length;
/** Bytes of a line around its record, with the longest position. */
const MOST_AROUND = 48;
const ZERO = 48;
const CLOSE_BRACE = 125;
const LINE_FEED = 10;

// Small enough to be collected while young: objects that survive one collection stay for long.
const READ_CHUNK_BYTES = 1 << 16;

/** Formats lines for `readStagedRecords`: JSON with a position and the record's own text. */
export function formatStagedLines(firstPosition: number, records: readonly PageRecord[]): string {
  let lines = '';
  for (const [at, record] of records.entries())
    lines += `${openLine(firstPosition + at, record)}${record.text}}\n`;
  return lines;
}

function openLine(position: number, record: PageRecord): string {
  return `${OPENING}${position}${READER_BYTES[readerOf(record)].toString()}`;
}

function readerOf({ exact, plain }: PageRecord): keyof typeof READER_BYTES {
  if (exact) return plain === true ? BOTH : EXACT;
  return plain === true ? ENGINE : PARSER;
}

/** Lines, and the memory at whose start they are. */
export interface WrittenSpace {
  readonly space: Buffer;
  readonly lines: Buffer;
}

/**
 * The same lines as bytes; records that are still bytes of their page are copied directly.
 *
 * @param take gives a buffer of at least a size
 */
export function writeStagedLines(
  firstPosition: number,
  records: readonly PageRecord[],
  take: (size: number) => Buffer,
): WrittenSpace {
  const own = records.map((record) => record.bytes ?? takeBytes(record.text));
  const size = own.reduce((sum, { start, end }) => sum + end - start + MOST_AROUND, 0);
  const space = take(size);
  let at = 0;
  for (let index = 0; index < records.length; index += 1) {
    const { source, start, end } = own[index] as RecordBytes;
    at = writeOpening(space, at, firstPosition + index, records[index] as PageRecord);
    at += source.copy(space, at, start, end);
    space[at] = CLOSE_BRACE;
    space[at + 1] = LINE_FEED;
    at += 2;
  }
  return { space, lines: space.subarray(0, at) };
}

/** Writes the result of `openLine` and returns its end. Writes byte by byte, as a native call takes longer. */
function writeOpening(lines: Buffer, start: number, position: number, record: PageRecord): number {
  lines.set(OPENING_BYTES, start);
  let at = start + OPENING_BYTES.length;
  let power = 1;
  while (power * 10 <= position) power *= 10;
  for (let rest = position; power >= 1; power /= 10) {
    const digit = Math.floor(rest / power);
    rest -= digit * power;
    lines[at] = ZERO + digit;
    at += 1;
  }
  const reader = READER_BYTES[readerOf(record)];
  lines.set(reader, at);
  return at + reader.length;
}

function takeBytes(text: string): RecordBytes {
  const source = Buffer.from(text);
  return { source, start: 0, end: source.length };
}

/** Whether the engine can read a staged line. */
export function isForEngine(line: string): boolean {
  const reader = line[line.indexOf(',') + 2];
  return reader === ENGINE || reader === BOTH;
}

/** Reads the records of a file that `isWanted` accepts, in page order, in constant memory. */
export async function* readStagedRecords(
  file: string,
  signal?: AbortSignal,
  isWanted: (line: string) => boolean = () => true,
): AsyncGenerator<readonly StagedRecord[]> {
  let rest: string[] = [];
  for await (const part of createReadStream(file, { encoding: 'utf8', highWaterMark: READ_CHUNK_BYTES })) {
    // A stop must not wait for a long load to end.
    assertNotAborted(signal);
    const chunk = String(part);
    const end = chunk.lastIndexOf('\n');
    if (end === -1) {
      // Joined only at the end of the line: one record may be as long as a whole response.
      rest.push(chunk);
      continue;
    }
    yield (rest.join('') + chunk.slice(0, end)).split('\n').filter(isWanted).map(parseStagedLine);
    rest = [chunk.slice(end + 1)];
  }
}

/** Parses a staged line, without its line break, into its record. */
export function parsePageRecord(line: string): { readonly position: number; readonly record: PageRecord } {
  const { position, reader, text } = splitStagedLine(line);
  const exact = isExact(reader);
  const plain = reader === ENGINE || reader === BOTH;
  return { position, record: { text, value: parseText(text, exact), exact, plain } };
}

function parseStagedLine(line: string): StagedRecord {
  const { position, reader, text } = splitStagedLine(line);
  return { position, text, value: parseText(text, isExact(reader)) };
}

function splitStagedLine(line: string): {
  readonly position: number;
  readonly reader: string | undefined;
  readonly text: string;
} {
  if (!line.startsWith(OPENING)) return splitOldLine(line);
  const comma = line.indexOf(',');
  const reader = line[comma + 2];
  const start = comma + (reader === BOTH ? READER_BYTES[BOTH].length : PLAIN_LENGTH);
  return {
    position: Number(line.slice(OPENING.length, comma)),
    reader,
    text: line.slice(start, -1),
  };
}

function isExact(reader: string | undefined): boolean {
  return reader === EXACT || reader === BOTH;
}

// Archives of version 0.1 contain `<position><reader><text>`, which must stay readable.
function splitOldLine(line: string): ReturnType<typeof splitStagedLine> {
  const digits = /^\d+/.exec(line)?.[0].length ?? 0;
  return { position: Number(line.slice(0, digits)), reader: line[digits], text: line.slice(digits + 1) };
}

function parseText(text: string, exact: boolean): unknown {
  return exact ? parseExact(text) : (JSON.parse(text) as unknown);
}
