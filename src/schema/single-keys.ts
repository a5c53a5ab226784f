import { type CandidateColumn, rankKeyColumn } from './key-candidates.ts';

/** A column that may tell rows apart without their date. */
export interface SingleKey {
  readonly name: string;
  /** Its name says nothing: only UUIDs make an id of it. */
  readonly isByShape: boolean;
}

const SINGLE_NAME = /(^|_)(id|uuid|guid|key)$/;
const PLAIN_NAME = /^(id|uuid|guid|key)$/;
const UUID_LENGTH = 36;

/** What a UUID looks like, for the engine as for JavaScript. */
export const UUID_SHAPE = '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$';

/** Columns that may be a key by themselves although rows are dated, likeliest first: ids by their name or shape. */
export function proposeSingleKeys(
  columns: readonly CandidateColumn[],
  cursor: string | undefined,
): readonly SingleKey[] {
  return columns
    .filter(({ name, alwaysFilled }) => name !== cursor && alwaysFilled)
    .map((column) => ({ column, rank: rankSingle(column), kind: kindOf(column) }))
    .filter(({ rank, kind }) => rank < Infinity && kind !== 'other')
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ column, kind }) => ({ name: column.name, isByShape: kind === 'shape' }));
}

// A name of its own first: `account_id` beside `id` says whose a row is.
function rankSingle(column: CandidateColumn): number {
  return rankKeyColumn(column) + (PLAIN_NAME.test(column.name) ? 0 : 0.25);
}

function kindOf({ name, type, longestText }: CandidateColumn): 'name' | 'shape' | 'other' {
  const last = name.split('__').at(-1) ?? name;
  const isText = type === 'VARCHAR';
  if (SINGLE_NAME.test(last) && (isText || type === 'BIGINT' || type === 'HUGEINT')) return 'name';
  return isText && longestText === UUID_LENGTH ? 'shape' : 'other';
}

const FEWEST_DAYS = 3;
const DAYS_BETWEEN = 5;
const EXPECTED_REPEATS = 3;

/**
 * Whether rows lie on days enough for an id that never came twice to be no coincidence. Things that come once in five
 * days, as many a day as on the fullest one, would repeat three times: none is seen once in twenty cases.
 */
export function areDaysEnough(rowsByDay: readonly number[]): boolean {
  const rows = rowsByDay.reduce((sum, count) => sum + count, 0);
  const most = rowsByDay.reduce((largest, count) => Math.max(largest, count), 0);
  // Pairs of rows of different days, each of which could have shared its id.
  const pairs = (rows * rows - rowsByDay.reduce((sum, count) => sum + count * count, 0)) / 2;
  return rowsByDay.length >= FEWEST_DAYS && pairs >= EXPECTED_REPEATS * DAYS_BETWEEN * most;
}
