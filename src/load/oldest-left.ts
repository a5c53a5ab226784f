import { DAY_MS, subtractDays } from '../model/dates.ts';
import type { CountedRows, Stream } from '../model/stream.ts';
import { sliceIdOf } from '../model/stream.ts';
import { findRecordDay, type KeptField } from '../warehouse/absent-records.ts';
import { countBetween, countSince, type DatedRows, findDay } from '../warehouse/oldest-rows.ts';
import type { Loading } from '../run/run-context.ts';
import { type ApiCount, type FetchedScan, isTimestamp, type PreparedLoad } from '../run/scan.ts';
import { countRepeated } from './compare-counts.ts';
import { describeCursor } from './unseen-records.ts';

/** The table's rows by the cursor's days, and how many days after a start date the API's answer may begin. */
export interface DatedTable extends DatedRows {
  readonly stream: string;
  readonly shifts: readonly number[];
  /** The cursor's field in quarantined records. */
  readonly cursor: KeptField | undefined;
}

/** Rows of the API from a day on, and of the table: one entry for each day on which the answer may begin. */
export interface RowsSince {
  readonly inApi: number;
  readonly inTable: readonly {
    readonly rows: number;
    /** From the oldest day of the last full scan up to that day. */
    readonly earlier: number;
  }[];
}

/** The table by its cursor's days; undefined without a cursor. */
export async function findDatedTable(
  context: Loading,
  stream: Stream,
  { plan }: Pick<FetchedScan, 'plan'>,
  load: PreparedLoad,
): Promise<DatedTable | undefined> {
  const { cursorColumn: column, oldestCursor } = load;
  if (column === undefined) return undefined;
  const { database } = context;
  const cursor = describeCursor(context, stream, load);
  const dated = {
    database,
    stream: stream.name,
    table: stream.table,
    slice: sliceIdOf(stream),
    column,
    cursor,
  };
  const { from } = plan;
  if (from === undefined || isTimestamp(load, column)) return { ...dated, shifts: [0, 1] };
  if (oldestCursor === from) return { ...dated, shifts: [0] };
  const held = await countBetween(dated, from, addDays(from, 1));
  return { ...dated, shifts: held > 0 ? [1] : [0, 1] };
}

/**
 * The days (ISO) to ask for if the oldest rows are the ones that left: the first day that should be complete, and the
 * day after it, so that late rows of later days do not offset rows of the first day that left too. If a day left in
 * part, that day as well. None if records that are not in the table may be older than these days.
 */
export async function listDaysToAsk(
  dated: DatedTable,
  from: string | undefined,
  counts: CountedRows,
): Promise<readonly string[]> {
  const { difference, oldest } = counts;
  if (difference >= 0 || oldest === undefined || from === undefined) return [];
  const left = oldest.left - difference;
  const last = await findDay(dated, oldest.date, from, left);
  const first = last && addDays(last, 1);
  if (last === undefined || first === undefined || first >= from) return [];
  const whole = await findDay(dated, first, from, 1);
  const next = whole === undefined ? from : addDays(whole, 1);
  if (!(await isLoadedBefore(dated, next, counts))) return [];
  const isPart = (await countBetween(dated, oldest.date, first)) > left;
  // Where the API leaves the start date's own day out, the day before it is asked for.
  const shift = dated.shifts.length === 1 ? (dated.shifts[0] ?? 0) : 0;
  return [...(isPart ? [last] : []), first, next].map((day) => addDays(day, -shift));
}

/** Whether every record that is not in the table has this day (ISO) or a later one, so that the API counts it. */
async function isLoadedBefore(
  { database, cursor, ...scope }: DatedTable,
  day: string,
  counts: CountedRows,
): Promise<boolean> {
  // Which days have records with a repeated key is not known.
  if (countRepeated(counts) !== 0) return false;
  if (counts.quarantined === 0) return true;
  if (cursor === undefined) return false;
  const first = await findRecordDay(database, scope, cursor);
  // The text of a time with an offset may name the day after its own.
  return first !== undefined && day < first;
}

/** Counts the table's rows from each day on that the API's count names. */
export async function countSinceDays(
  dated: DatedTable | undefined,
  { since }: ApiCount,
  before: CountedRows | undefined,
): Promise<readonly RowsSince[] | undefined> {
  const oldest = before?.oldest?.date;
  if (dated === undefined || since === undefined || oldest === undefined) return undefined;
  const all: RowsSince[] = [];
  for (const { date, rows } of since) {
    const inTable = [];
    for (const shift of dated.shifts) {
      const day = addDays(date, shift);
      inTable.push({ rows: await countSince(dated, day), earlier: await countBetween(dated, oldest, day) });
    }
    all.push({ inApi: rows, inTable });
  }
  return all;
}

/** Whether the rows that are no longer counted are the oldest ones: of the later days the API has as many as the table. */
export function areOldestGone(since: readonly RowsSince[] | undefined, counts: CountedRows): boolean {
  const { oldest, suspected, unloaded, difference } = counts;
  if (since === undefined || since.length === 0 || oldest === undefined) return false;
  const left = oldest.left - difference;
  const fits = ({ inApi, inTable }: RowsSince, at: number) => {
    const { rows, earlier } = inTable[at] ?? { rows: NaN, earlier: 0 };
    return inApi === rows - Math.max(0, left - earlier) - oldest.inside - suspected + unloaded;
  };
  // Whether rows of the start date itself are counted may be unknown, but it is the same for each date.
  return [0, 1].some((at) => since.every((day) => fits(day, at)));
}

function addDays(day: string, days: number): string {
  return subtractDays(day, -days * DAY_MS);
}
