import { DAY_MS, subtractDays } from '../model/dates.ts';
import type { CursorWindow } from '../warehouse/live-rows.ts';
import { type FetchedScan, isTimestamp, type PreparedLoad } from '../run/scan.ts';
import { type FullRefresh, readInFull } from '../run/step.ts';

/**
 * The days that an incremental scan read in full: from the day after its start date on, or from the second day after it
 * for timestamps. The API text says neither whether `startDate` is included nor in which time zone a day begins. Rows
 * without a date are in no window.
 */
export function windowOf(scan: FetchedScan, load: PreparedLoad): CursorWindow | undefined {
  const { from } = scan.plan;
  return from === undefined ? undefined : windowFrom(from, load);
}

/** The days that a scan from a start date on reads in full. */
export function windowFrom(
  from: string,
  load: Pick<PreparedLoad, 'columns' | 'cursorColumn'>,
): CursorWindow | undefined {
  const column = cursorColumnOf(load);
  return column && { column: column.name, type: column.type, date: firstWholeDay(from, load) };
}

/** The first day that a scan from a start date on reads in full. */
export function firstWholeDay(from: string, load: Pick<PreparedLoad, 'columns' | 'cursorColumn'>): string {
  // A start date may leave its own day out, and the API's days may begin up to a day later than those in UTC.
  const unsureMs = cursorColumnOf(load)?.type === 'DATE' ? DAY_MS : 2 * DAY_MS;
  return subtractDays(from, -unsureMs);
}

function cursorColumnOf({ columns, cursorColumn }: Pick<PreparedLoad, 'columns' | 'cursorColumn'>) {
  return columns.find(({ name }) => name === cursorColumn);
}

/** Whether rows from before the start date were returned: the API filters by something other than the cursor's date. */
export function cameEarlier({ plan }: FetchedScan, load: PreparedLoad): boolean {
  if (plan.from === undefined || load.oldestCursor === undefined) return false;
  // A timestamp's offset may move it over midnight.
  const slackMs = isTimestamp(load, load.cursorColumn) ? DAY_MS : 0;
  return load.oldestCursor < subtractDays(plan.from, slackMs);
}

/**
 * Why a full scan is needed after an incremental one without a key returned rows outside of complete days: such a row
 * cannot be distinguished from its own older version, so it would be dropped or counted twice.
 */
export function refuteByDays(scan: FetchedScan, load: PreparedLoad): FullRefresh | undefined {
  const replacesDays = scan.plan.mode === 'incremental' && load.key === undefined && load.tableExisted;
  if (!replacesDays || scan.rows === 0 || scan.verdict === 'partial') return undefined;
  const { cursorColumn, dateless } = load;
  const cursor = `the cursor (${cursorColumn ?? ''})`;
  if (dateless === undefined) return readInFull(`${cursor} no longer holds dates`, FORGOTTEN);
  if (dateless > 0) {
    const rows = dateless === 1 ? '1 row came' : `${dateless} rows came`;
    return readInFull(`${rows} without a date in ${cursor}, and there is no key`, FORGOTTEN);
  }
  if (!cameEarlier(scan, load)) return undefined;
  return readInFull(
    `asked for rows since ${scan.plan.from ?? ''}, received rows from ${load.oldestCursor ?? ''}, and there is no key to merge them by`,
  );
}

/** Relearned from the whole data, as there may be records without a date. */
const FORGOTTEN = { forget: { cursorField: undefined, cursorState: undefined } } as const;
