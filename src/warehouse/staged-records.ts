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

// `x` marks a record that only the exact parser may read.
const PLAIN = 'p';
const EXACT = 'x';

// Small enough to be gone with the next young collection: what outlives one stays for long.
const READ_CHUNK_BYTES = 1 << 16;

/** Lines that `readStagedRecords` reads back: position, parser and the record's own text. */
export function formatStagedLines(firstPosition: number, records: readonly PageRecord[]): string {
  let lines = '';
  for (const [at, record] of records.entries()) {
    lines += `${firstPosition + at}${record.exact ? EXACT : PLAIN}${record.text}\n`;
  }
  return lines;
}

/** Reads a records file line by line, in the order the pages came, with constant memory. */
export async function* readStagedRecords(
  file: string,
  signal?: AbortSignal,
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
    yield (rest.join('') + chunk.slice(0, end)).split('\n').map(parseStagedLine);
    rest = [chunk.slice(end + 1)];
  }
}

/** Reads one staged line, without its line break, as the record it was made of. */
export function parsePageRecord(line: string): { readonly position: number; readonly record: PageRecord } {
  const { position, text, value } = parseStagedLine(line);
  return { position, record: { text, value, exact: line[String(position).length] === EXACT } };
}

function parseStagedLine(line: string): StagedRecord {
  const digits = /^\d+/.exec(line)?.[0].length ?? 0;
  const text = line.slice(digits + 1);
  return {
    position: Number(line.slice(0, digits)),
    text,
    value: line[digits] === EXACT ? parseExact(text) : (JSON.parse(text) as unknown),
  };
}
