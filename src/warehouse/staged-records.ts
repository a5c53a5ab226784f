import { createReadStream } from 'node:fs';
import { parseExact } from '../json/exact-number.ts';
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

/** Lines that `readStagedRecords` reads back: position, parser and the record's own text. */
export function formatStagedLines(firstPosition: number, records: readonly PageRecord[]): string {
  let lines = '';
  for (const [at, record] of records.entries()) {
    lines += `${firstPosition + at}${record.exact ? EXACT : PLAIN}${record.text}\n`;
  }
  return lines;
}

/** Reads a records file line by line, in the order the pages came, with constant memory. */
export async function* readStagedRecords(file: string): AsyncGenerator<readonly StagedRecord[]> {
  let rest = '';
  for await (const chunk of createReadStream(file, { encoding: 'utf8', highWaterMark: 1 << 20 })) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    if (lines.length > 0) yield lines.map(parseStagedLine);
  }
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
