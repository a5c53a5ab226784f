import { createReadStream } from 'node:fs';
import { parseExact } from '../json/exact-number.ts';
import { assertNotAborted } from '../model/abort.ts';
import type { PageRecord } from '../model/page.ts';

/** A staged record read back: its position in the scan and its value. */
export interface StagedRecord {
  readonly position: number;
  readonly value: unknown;
  /** The record as received. */
  readonly text: string;
}

// The member that holds a record tells who may read it; the engine is told of none but those under `r`.
const ENGINE = 'r';
const PARSER = 'p';
const EXACT = 'x';
const OPENING = '{"i":';

// Small enough to be gone with the next young collection: what outlives one stays for long.
const READ_CHUNK_BYTES = 1 << 16;

/** Lines that `readStagedRecords` reads back: JSON of a position, and of the record's own text beside it. */
export function formatStagedLines(firstPosition: number, records: readonly PageRecord[]): string {
  let lines = '';
  for (const [at, { exact, plain, text }] of records.entries()) {
    const reader = exact ? EXACT : plain === true ? ENGINE : PARSER;
    lines += `${OPENING}${firstPosition + at},"${reader}":${text}}\n`;
  }
  return lines;
}

/** Whether the engine may read a staged line. */
export function isForEngine(line: string): boolean {
  return line.startsWith(`"${ENGINE}"`, line.indexOf(',') + 1);
}

/** Reads the records of a file that `isWanted`, in the order the pages came, with constant memory. */
export async function* readStagedRecords(
  file: string,
  signal?: AbortSignal,
  isWanted: (line: string) => boolean = () => true,
): AsyncGenerator<readonly StagedRecord[]> {
  let rest: string[] = [];
  for await (const part of createReadStream(file, { encoding: 'utf8', highWaterMark: READ_CHUNK_BYTES })) {
    // A long load must not make a stop wait for its end.
    assertNotAborted(signal);
    const chunk = String(part);
    const end = chunk.lastIndexOf('\n');
    if (end === -1) {
      // Joined only once the line has ended: a record may be as long as a whole answer.
      rest.push(chunk);
      continue;
    }
    yield (rest.join('') + chunk.slice(0, end)).split('\n').filter(isWanted).map(parseStagedLine);
    rest = [chunk.slice(end + 1)];
  }
}

/** Reads one staged line, without its line break, as the record it was made of. */
export function parsePageRecord(line: string): { readonly position: number; readonly record: PageRecord } {
  const { position, reader, text } = splitStagedLine(line);
  const exact = reader === EXACT;
  return { position, record: { text, value: parseText(text, exact), exact, plain: reader === ENGINE } };
}

function parseStagedLine(line: string): StagedRecord {
  const { position, reader, text } = splitStagedLine(line);
  return { position, text, value: parseText(text, reader === EXACT) };
}

function splitStagedLine(line: string): {
  readonly position: number;
  readonly reader: string | undefined;
  readonly text: string;
} {
  if (!line.startsWith(OPENING)) return splitOldLine(line);
  const comma = line.indexOf(',');
  return {
    position: Number(line.slice(OPENING.length, comma)),
    reader: line[comma + 2],
    text: line.slice(comma + 5, -1),
  };
}

// Archives of version 0.1 hold `<position><reader><text>`; they are read for as long as they are kept.
function splitOldLine(line: string): ReturnType<typeof splitStagedLine> {
  const digits = /^\d+/.exec(line)?.[0].length ?? 0;
  return { position: Number(line.slice(0, digits)), reader: line[digits], text: line.slice(digits + 1) };
}

function parseText(text: string, exact: boolean): unknown {
  return exact ? parseExact(text) : (JSON.parse(text) as unknown);
}
