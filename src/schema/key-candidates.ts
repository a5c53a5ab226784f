import type { ColumnType } from '../model/schema.ts';

/** A column as the search for keys and cursors sees it. */
export interface CandidateColumn {
  readonly name: string;
  readonly type: ColumnType;
  /** No record lacked a value. */
  readonly alwaysFilled: boolean;
  readonly longestText: number;
}

const LONGEST_KEY_TEXT = 128;
const MOST_CANDIDATES = 12;
const MOST_KEY_COLUMNS = 5;

const ID_NAME = /(^|_)(id|ids|uuid|guid|key|code|slug|sku|asin|gtin|ean|isbn|hash|handle)$/;
const PLAIN_DATE = /^(date|day)$/;
const DATE_NAME = /(^|_)(date|day|week|month|hour|period|timestamp|ts|time)$/;
// A day to come, or long gone, says nothing about the day of a row.
const ELSEWHEN_NAME =
  /(^|_)(due|end|ends|until|to|till|valid|deadline|expiry|expires|ship|shipping|delivery|renewal|release|start|starts|launch|birth)(_|$)/;
const EVENT_NAME = /(^|_)(created|occurred|happened|recorded|observed|published|started|event)(_|$)/;
// When a row was last touched says nothing about which row it is.
const TOUCHED_NAME =
  /(^|_)(updated|modified|changed|edited|refreshed|synced|fetched|scraped|crawled|seen|last|latest|expires|expiry|expired)(_|$)/;
// Integers are measures unless their name says that they tell rows apart.
const ORDINAL_NAME =
  /(^|_)(rank|position|index|idx|number|no|num|seq|sequence|ordinal|slot|line|row|page|level|year|quarter|month|week|day|hour|bucket)$/;
const FREE_TEXT_NAME =
  /(^|_)(title|description|text|body|content|comment|message|summary|prompt|answer|question|snippet|url|link|image|notes?)$/;

/** The column a stream's rows are most likely dated by. */
export function chooseCursorCandidate(columns: readonly CandidateColumn[]): string | undefined {
  return rankCursorCandidates(columns)[0];
}

/**
 * Columns that rows may be dated by, likeliest first: a date (or a time of an event) that every record has,
 * preferred by its name. Times of last change are not: they are attributes of a row.
 */
export function rankCursorCandidates(columns: readonly CandidateColumn[]): readonly string[] {
  return columns
    .filter(({ type, alwaysFilled, name }) => alwaysFilled && isDated(type) && !TOUCHED_NAME.test(name))
    .map((column) => ({ column, rank: rankCursor(column) }))
    .filter(({ rank }) => rank < Infinity)
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ column }) => column.name);
}

function rankCursor({ name, type }: CandidateColumn): number {
  const last = name.split('__').at(-1) ?? name;
  const nested = name.includes('__') ? 10 : 0;
  if (PLAIN_DATE.test(last)) return nested + (type === 'DATE' ? 0 : 1);
  if (ELSEWHEN_NAME.test(last)) return nested + 6;
  if (type === 'DATE') return nested + (DATE_NAME.test(last) ? 2 : 4);
  if (DATE_NAME.test(last)) return nested + 3;
  return EVENT_NAME.test(last) ? nested + 5 : Infinity;
}

/**
 * Sets of columns worth proving as a key, likeliest first within each size: each contains the cursor
 * column, and never a float, a measure or free text.
 */
export function proposeKeys(
  columns: readonly CandidateColumn[],
  cursor: string | undefined,
): readonly (readonly string[])[] {
  const ranked = columns
    .filter((column) => column.name !== cursor && column.alwaysFilled)
    .map((column, order) => ({ name: column.name, rank: rankKeyColumn(column), order }))
    .filter(({ rank }) => rank < Infinity)
    .toSorted((a, b) => a.rank - b.rank || a.order - b.order)
    .slice(0, MOST_CANDIDATES);
  const base = cursor === undefined ? [] : [cursor];
  const proposals: string[][] = cursor === undefined ? [] : [base];
  for (let size = 1; size + base.length <= MOST_KEY_COLUMNS; size += 1) {
    const sets = combinations(ranked, size).map((set) => ({
      set,
      rank: set.reduce((sum, { rank }) => sum + rank, 0),
    }));
    for (const { set } of sets.toSorted((a, b) => a.rank - b.rank)) {
      // A date alone, without any column that names a thing, is not a key.
      proposals.push([...base, ...set.map(({ name }) => name)]);
    }
  }
  return proposals;
}

/** How likely a column is part of a key: lower is likelier, Infinity never. */
export function rankKeyColumn({ name, type, longestText }: CandidateColumn): number {
  const last = name.split('__').at(-1) ?? name;
  const nested = name.includes('__') ? 0.5 : 0;
  if (TOUCHED_NAME.test(last)) return Infinity;
  switch (type) {
    case 'BIGINT':
    case 'HUGEINT':
      if (ID_NAME.test(last)) return nested + 0;
      return ORDINAL_NAME.test(last) ? nested + 3 : Infinity;
    case 'VARCHAR':
      if (longestText > LONGEST_KEY_TEXT || FREE_TEXT_NAME.test(last)) return Infinity;
      return nested + (ID_NAME.test(last) ? 0 : 2);
    case 'DATE':
    case 'TIMESTAMP':
    case 'TIMESTAMPTZ':
      return nested + (DATE_NAME.test(last) ? 1 : 4);
    default:
      return Infinity;
  }
}

function isDated(type: ColumnType): boolean {
  return type === 'DATE' || type === 'TIMESTAMP' || type === 'TIMESTAMPTZ';
}

function combinations<T>(items: readonly T[], size: number): T[][] {
  if (size === 0) return [[]];
  return items.flatMap((item, at) =>
    combinations(items.slice(at + 1), size - 1).map((rest) => [item, ...rest]),
  );
}
