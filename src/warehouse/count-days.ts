import { DAY_MS, toDate } from '../model/dates.ts';
import type { DayFacts } from '../model/report-data.ts';
import type { Database } from './database.ts';
import { readColumns, tableName } from './evolve-table.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';
import { dayOf, readScope } from './live-rows.ts';

export interface DayOptions {
  /** Column to use instead of the first that holds dates. */
  readonly cursorColumn: string | undefined;
  /** Maximum number of days to count, up to the last one with rows. */
  readonly mostDays: number;
  readonly nowMs: number;
}

/** Live rows of a table per day; undefined if no row has a date. */
export async function countDays(
  database: Database,
  table: string,
  { cursorColumn, mostDays, nowMs }: DayOptions,
): Promise<DayFacts | undefined> {
  const columns = await readColumns(database, table);
  const column = chooseColumn(columns, cursorColumn);
  const { live } = await readScope(database, table, '');
  const days = `(SELECT ${toDay(column, columns.get(column) ?? '')} AS day FROM ${tableName(table)} t WHERE ${live})`;
  // Clocks and time zones differ: tomorrow does not count as a future date.
  const limit = quoteLiteral(toDate(nowMs + DAY_MS));
  const [bounds = {}] = await database.all(
    `SELECT CAST(max(day) FILTER (day <= ${limit}::DATE) AS VARCHAR) AS last,
       CAST(min(day) AS VARCHAR) AS first, count(*) FILTER (day IS NULL) AS dateless,
       count(*) FILTER (day > ${limit}::DATE) AS later FROM ${days}`,
  );
  const last = readDay(bounds['last']);
  const first = readDay(bounds['first']);
  if (last === undefined || first === undefined) return undefined;
  const from = Math.max(first, last - (mostDays - 1) * DAY_MS);
  const counted = await database.all(
    `SELECT CAST(day AS VARCHAR) AS day, count(*) AS n FROM ${days}
       WHERE day BETWEEN ${quoteLiteral(toDate(from))}::DATE AND ${quoteLiteral(toDate(last))}::DATE GROUP BY ALL`,
  );
  const rows = new Map(counted.map((row) => [String(row['day']), Number(row['n'])]));
  const counts = Array.from({ length: Math.round((last - from) / DAY_MS) + 1 }, (_, at) => {
    const day = toDate(from + at * DAY_MS);
    return { day, rows: rows.get(day) ?? 0 };
  });
  const earlier = await database.count(
    `SELECT count(*) FROM ${days} WHERE day < ${quoteLiteral(toDate(from))}::DATE`,
  );
  return {
    column,
    counts,
    earlier,
    later: Number(bounds['later']),
    dateless: Number(bounds['dateless']),
  };
}

const SYNCED_AT = '_synced_at';

function chooseColumn(columns: ReadonlyMap<string, string>, cursor: string | undefined): string {
  if (cursor !== undefined && columns.has(cursor)) return cursor;
  const dates = [...columns].filter(([name]) => !name.startsWith('_'));
  return dates.find(([, type]) => type === 'DATE')?.[0] ?? SYNCED_AT;
}

/** The date in a column of `t`; NULL if it has none. */
export function toDay(column: string, type: string): string {
  const name = `t.${quoteIdentifier(column)}`;
  if (type === 'DATE') return name;
  return type.startsWith('TIMESTAMP') ? `CAST(${name} AS DATE)` : dayOf('t', column);
}

// The engine supports dates that ISO and JavaScript do not: -5877641, infinity.
function readDay(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined;
  const ms = Date.parse(`${value}T00:00:00Z`);
  if (Number.isNaN(ms)) return value === 'infinity' ? undefined : -62_135_596_800_000;
  return ms;
}
