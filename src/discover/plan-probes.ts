import { DAY_MS, toDate } from '../model/dates.ts';
import type { ParamValue, Stream } from '../model/stream.ts';
import { foldFieldName, foldSegment } from '../schema/field-rules.ts';
import { toFieldName } from '../schema/field-paths.ts';
import { readField, type Sample, type SampledColumn } from './sample.ts';

/** What to ask about one query parameter. */
export type ParamPlan = StartDatePlan | FilterPlan;

export interface StartDatePlan {
  readonly kind: 'start-date';
  readonly param: string;
  /** A date no record can have. */
  readonly future: string;
  /** Dates to split the sample by, for each field that has several, best first. */
  readonly fields: readonly { readonly column: SampledColumn; readonly date: string }[];
}

export interface FilterPlan {
  readonly kind: 'filter';
  readonly param: string;
  /** A value the sample has, for each field that the parameter may mean. */
  readonly values: readonly { readonly column: SampledColumn; readonly value: string }[];
  /** A value nothing has. */
  readonly nonsense: string;
}

export const NONSENSE = 'no-such-value';
const MOST_FIELDS = 2;
const LONGEST_VALUE = 100;

/** The most requests that asking takes. */
export function countProbes(plan: ParamPlan): number {
  return plan.kind === 'start-date' ? 1 + Math.min(1, plan.fields.length) : 1 + plan.values.length;
}

/** A date far enough ahead that no time zone and no forecast of the source reaches it. */
export function planStartDate(
  param: string,
  sample: Sample,
  cursors: readonly string[],
  nowMs: number,
): StartDatePlan {
  const fields = cursors.flatMap((name) => {
    const column = sample.columns.find((one) => one.name === name);
    const date = column && findMiddleDate(sample, column);
    return column === undefined || date === undefined ? [] : [{ column, date }];
  });
  return { kind: 'start-date', param, future: toDate(nowMs + 366 * DAY_MS), fields };
}

/** A filter's plan: by a field of the same name, its singular, or that with `_id` or `_name` behind it. */
export function planFilter(
  param: string,
  sample: Sample,
  stream: Stream,
  isMasked: (path: readonly string[]) => boolean,
): FilterPlan {
  // Config sets it already: every record of the sample went through it.
  const isSet = Object.hasOwn(stream.params, param);
  const names = listNames(param);
  const columns = sample.columns
    .map((column) => ({ column, rank: names.indexOf(foldFieldName(column.path.slice(-1).map(toFieldName))) }))
    .filter(({ column, rank }) => rank !== -1 && !isMasked(column.path))
    .toSorted((a, b) => a.rank - b.rank || a.column.path.length - b.column.path.length);
  const values = isSet
    ? []
    : columns.slice(0, MOST_FIELDS).flatMap(({ column }) => {
        const value = chooseValue(sample, column);
        return value === undefined ? [] : [{ column, value }];
      });
  return { kind: 'filter', param, values, nonsense: NONSENSE };
}

/** A date in the sample that some rows come before, as near to the middle as there is. */
function findMiddleDate({ rows }: Sample, { path }: SampledColumn): string | undefined {
  const dates = rows.map((row) => String(readField(row, path)).slice(0, 10)).toSorted();
  const [oldest] = dates;
  const middle = dates[Math.floor(dates.length / 2)];
  return middle === oldest ? dates.find((date) => date !== oldest) : middle;
}

function listNames(param: string): readonly string[] {
  const name = foldSegment(param);
  const singular = name.endsWith('ies') ? `${name.slice(0, -3)}y` : name.replace(/s$/, '');
  return [...new Set([name, singular, `${singular}_id`, `${singular}_name`])];
}

/** The value that tells most: held by about half of the rows, never by none. */
function chooseValue({ rows }: Sample, { path }: SampledColumn): string | undefined {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const value = readField(row, path);
    if (isParamValue(value)) counts.set(String(value), (counts.get(String(value)) ?? 0) + 1);
  }
  const half = rows.length / 2;
  const usable = [...counts].filter(
    ([text]) => text.trim() !== '' && text.length <= LONGEST_VALUE && !text.includes(','),
  );
  return usable.toSorted(([, a], [, b]) => Math.abs(a - half) - Math.abs(b - half))[0]?.[0];
}

function isParamValue(value: unknown): value is ParamValue {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value);
}
