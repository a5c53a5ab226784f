import type { ColumnProfile, ColumnValues, TableProfile } from '../model/report-data.ts';
import type { SqlRow } from '../model/sql.ts';
import type { Database } from './database.ts';
import { readColumns, tableName } from './evolve-table.ts';
import { quoteIdentifier } from './identifiers.ts';
import { readScope } from './live-rows.ts';

export interface ProfileOptions {
  readonly rows: number;
  /** Columns to profile, with their learned types; columns missing from the table held only nulls. */
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** Why a column's values must not be shown; undefined if they may be. */
  readonly hides: (column: string) => ColumnProfile['hidden'];
}

/** Tables with more rows are sampled. */
export const MOST_PROFILED_ROWS = 1_000_000;
// Counting distinct values exactly takes memory for each of them.
const MOST_COUNTED_ROWS = 50_000;
// Wide tables are counted in parts, as each count takes engine memory.
const COLUMNS_AT_ONCE = 50;
const FEW_VALUES = 12;
const TOP_VALUES = 5;
const BINS = 12;
const VALUE_LENGTH = 60;

/** Describes the columns of a table by its live rows. */
export async function profileTable(
  database: Database,
  table: string,
  { rows, columns, hides }: ProfileOptions,
): Promise<TableProfile> {
  const stored = await readColumns(database, table);
  const { live } = await readScope(database, table, '');
  const isSample = rows > MOST_PROFILED_ROWS;
  const share = ((MOST_PROFILED_ROWS / rows) * 100).toFixed(4);
  // Samples whole blocks and skips the others: a large table takes no longer than a small one.
  const sampled = isSample ? ` TABLESAMPLE system(${share}%)` : '';
  const source = `(SELECT * FROM ${tableName(table)} t${sampled} WHERE ${live}) t`;
  const rowsSeen = isSample ? await database.count(`SELECT count(*) FROM ${source}`) : rows;
  const profiled = { database, source, rowsSeen };
  const profiles: ColumnProfile[] = [];
  for (let at = 0; at < columns.length; at += COLUMNS_AT_ONCE) {
    const part = columns.slice(at, at + COLUMNS_AT_ONCE);
    const known = part.filter(({ name }) => stored.has(name));
    const counts = await countColumns(profiled, known);
    for (const column of part) {
      const counted = counts.get(column.name);
      profiles.push(
        counted === undefined
          ? describeEmpty(column, rowsSeen)
          : await describeColumn(profiled, column, counted, hides(column.name)),
      );
    }
  }
  return { rowsSeen, isSample, columns: profiles };
}

/** The rows that a profile describes. */
interface ProfiledRows {
  readonly database: Database;
  /** SQL for them, named `t`. */
  readonly source: string;
  readonly rowsSeen: number;
}

interface Counted {
  readonly filled: number;
  readonly distinct: number;
}

async function countColumns(
  { database, source, rowsSeen }: ProfiledRows,
  columns: ProfileOptions['columns'],
): Promise<ReadonlyMap<string, Counted>> {
  if (columns.length === 0) return new Map();
  const count = rowsSeen <= MOST_COUNTED_ROWS ? 'count(DISTINCT' : 'approx_count_distinct(';
  const parts = columns.map(({ name }, at) => {
    const column = `t.${quoteIdentifier(name)}`;
    return `count(${column}) AS f${at}, ${count} ${column}) AS d${at}`;
  });
  const [row = {}] = await database.all(`SELECT count(*) AS total, ${parts.join(', ')} FROM ${source}`);
  return new Map(
    columns.map(({ name }, at) => {
      // Each query has a different sample: only its share counts, applied to the first row count.
      const share = Number(row[`f${at}`]) / Math.max(1, Number(row['total']));
      const filled = Math.round(share * rowsSeen);
      // An estimate may exceed the possible maximum.
      return [name, { filled, distinct: Math.min(filled, Number(row[`d${at}`])) }];
    }),
  );
}

function describeEmpty({ name, type }: ProfileOptions['columns'][number], rowsSeen: number): ColumnProfile {
  return {
    name,
    type,
    nulls: rowsSeen,
    distinct: 0,
    isDistinctExact: true,
    hidden: undefined,
    values: undefined,
  };
}

async function describeColumn(
  { database, source, rowsSeen }: ProfiledRows,
  column: ProfileOptions['columns'][number],
  counted: Counted,
  hidden: ColumnProfile['hidden'],
): Promise<ColumnProfile> {
  const { name, type } = column;
  const { filled, distinct } = counted;
  const values =
    hidden === undefined && filled > 0 ? await describeValues(database, source, column, counted) : undefined;
  const isDistinctExact = rowsSeen <= MOST_COUNTED_ROWS;
  return { name, type, nulls: rowsSeen - filled, distinct, isDistinctExact, hidden, values };
}

async function describeValues(
  database: Database,
  source: string,
  { name, type }: ProfileOptions['columns'][number],
  { filled, distinct }: Counted,
): Promise<ColumnValues> {
  const column = quoteIdentifier(name);
  // Values that never repeat are not an enumeration, however few they are.
  const isRepeating = distinct <= FEW_VALUES && (distinct <= filled / 2 || distinct <= 1);
  if (isRepeating && type !== 'JSON') return listTop(database, source, column, filled);
  const position = positionOf(`t.${column}`, type);
  return position === undefined
    ? measureText(database, source, column)
    : measureRange(database, source, column, position);
}

async function listTop(
  database: Database,
  source: string,
  column: string,
  filled: number,
): Promise<ColumnValues> {
  const rows = await database.all(
    `SELECT left(CAST(v AS VARCHAR), ${VALUE_LENGTH + 1}) AS v, n, total FROM
       (SELECT t.${column} AS v, count(*) AS n, sum(count(*)) OVER ()::DOUBLE AS total FROM ${source}
          WHERE t.${column} IS NOT NULL GROUP BY 1 ORDER BY n DESC, v LIMIT ${TOP_VALUES}) ORDER BY n DESC, v`,
  );
  // Each query of a sampled table sees different rows: only shares are comparable, not counts.
  const top = rows.map((row) => ({
    value: cut(row['v']),
    rows: Math.round((Number(row['n']) / Number(row['total'])) * filled),
  }));
  const told = top.reduce((sum, value) => sum + value.rows, 0);
  return { kind: 'few', top, others: Math.max(0, filled - told) };
}

async function measureText(database: Database, source: string, column: string): Promise<ColumnValues> {
  const [row = {}] = await database.all(
    `SELECT min(length(CAST(t.${column} AS VARCHAR))) AS shortest, max(length(CAST(t.${column} AS VARCHAR))) AS longest
       FROM ${source}`,
  );
  return { kind: 'text', shortest: Number(row['shortest']), longest: Number(row['longest']) };
}

async function measureRange(
  database: Database,
  source: string,
  column: string,
  position: string,
): Promise<ColumnValues> {
  const [bounds = {}] = await database.all(
    `SELECT CAST(min(t.${column}) AS VARCHAR) AS min, CAST(max(t.${column}) AS VARCHAR) AS max FROM ${source}`,
  );
  // Halved, so that the distance of two large numbers does not overflow.
  const rows = await database.all(
    `WITH v AS (SELECT x FROM (SELECT ${position} AS x FROM ${source}) WHERE isfinite(x)),
       b AS (SELECT min(x) / 2 AS lo, max(x) / 2 AS hi FROM v)
     SELECT TRY_CAST(least(${BINS - 1}, floor((x / 2 - lo) / (hi - lo) * ${BINS})) AS INTEGER) AS bin, count(*) AS n
       FROM v, b WHERE hi > lo GROUP BY 1`,
  );
  return {
    kind: 'range',
    min: cut(bounds['min']),
    max: cut(bounds['max']),
    bins: rows.length === 0 ? [] : fillBins(rows),
  };
}

function fillBins(rows: readonly SqlRow[]): readonly number[] {
  const counts = new Map(rows.map((row) => [Number(row['bin']), Number(row['n'])]));
  return Array.from({ length: BINS }, (_, bin) => counts.get(bin) ?? 0);
}

/** SQL for a column's value as a double; undefined for a type without a scale. */
function positionOf(column: string, type: string): string | undefined {
  if (type === 'DATE' || type.startsWith('TIMESTAMP')) return `epoch(CAST(${column} AS TIMESTAMP))`;
  return /^(BIGINT|HUGEINT|DOUBLE|DECIMAL)/.test(type) ? `CAST(${column} AS DOUBLE)` : undefined;
}

function cut(value: unknown): string {
  const text = String(value);
  return text.length <= VALUE_LENGTH ? text : `${text.slice(0, VALUE_LENGTH)}…`;
}
