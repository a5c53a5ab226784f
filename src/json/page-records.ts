import type { PageRecord } from '../model/page.ts';
import { ExactNumber, parseExact } from './exact-number.ts';
import { type RecordSlice, sliceArray } from './slice-records.ts';

/** Records nested deeper than this are refused: reading them back would need recursion without end. */
export const MAX_DEPTH = 500;

/** Records beside what was seen while reading them. */
export interface RecordBatch {
  readonly records: readonly PageRecord[];
  /** Records that wrote a member name twice; the last one counts. */
  readonly duplicateMembers: number;
}

/**
 * Records from their slices and parsed values, which pair up by index. `tooDeep` makes the error for the
 * record at an index that is nested too deep.
 */
export function buildRecords(
  slices: readonly RecordSlice[],
  values: readonly unknown[],
  tooDeep: (index: number, depth: number) => Error,
): RecordBatch {
  let duplicateMembers = 0;
  const records = slices.map((slice, at): PageRecord => {
    if (slice.depth > MAX_DEPTH) throw tooDeep(at, slice.depth);
    const value = slice.hardNumbers ? parseExact(slice.text) : values[at];
    const repeats = countMembers(value) < slice.members;
    if (repeats) duplicateMembers += 1;
    const plain = slice.plain && !repeats && slice.text.startsWith('{');
    return { text: slice.text, value, exact: slice.hardNumbers, plain };
  });
  return { records, duplicateMembers };
}

/** Reads neighbouring elements of an array from their text, commas between them. */
export function readRecordRun(text: string, tooDeep: (index: number, depth: number) => Error): RecordBatch {
  const array = `[${text}]`;
  return buildRecords(sliceArray(array, 0), JSON.parse(array) as unknown[], tooDeep);
}

function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return 0;
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + countMembers(item), 0);
  let count = 0;
  for (const name of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[name];
    count += typeof member === 'object' ? 1 + countMembers(member) : 1;
  }
  return count;
}
