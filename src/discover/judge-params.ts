import type { ParamFinding } from '../model/discover-report.ts';
import { toMoment } from './find-cursors.ts';
import type { FilterPlan, StartDatePlan } from './plan-probes.ts';
import { readField, type SampledColumn } from './sample.ts';
import { formatCount, formatCountOf } from '../text/format-count.ts';

/** What the endpoint said to one question. */
export type ProbeAnswer =
  | RowsAnswer
  | { readonly kind: 'refused'; readonly text: string }
  /** It failed, or was not asked. */
  | { readonly kind: 'unknown'; readonly text: string };

export interface RowsAnswer {
  readonly kind: 'rows';
  /** Records declared, or sent where nothing declares them; undefined when they are too many to count. */
  readonly rows: number | undefined;
  /** Those that came. */
  readonly records: readonly Readonly<Record<string, unknown>>[];
  /** Fingerprint of what came. */
  readonly head: string;
}

/** Whether values of the data may stand in the evidence. */
export interface JudgeOptions {
  readonly showsValues: boolean;
}

/** Whether the endpoint answers as it does without the parameter. */
export function isUnchanged(base: RowsAnswer, answer: ProbeAnswer): boolean {
  return answer.kind === 'rows' && answer.rows === base.rows && answer.head === base.head && base.rows !== 0;
}

/** What came without a start date, and with two. */
interface StartDateAnswers {
  readonly base: RowsAnswer;
  readonly future: ProbeAnswer;
  /** undefined where no date of the sample was asked for. */
  readonly inside: ProbeAnswer | undefined;
}

/** What the answers to a start date in the future, and to one inside of the sample's range, say. */
export function judgeStartDate(
  plan: StartDatePlan,
  { base, future, inside }: StartDateAnswers,
  { showsValues }: JudgeOptions,
): ParamFinding {
  const { param, fields } = plan;
  const field = inside?.kind === 'rows' ? findLaterField(plan, inside) : undefined;
  const date = showsValues ? (fields[0]?.date ?? '') : 'a date of the sample';
  const evidence = [
    `${param}=${plan.future}: ${tell(base, future)}`,
    ...(inside === undefined ? [] : [`${param}=${date}: ${tell(base, inside)}${tellLater(field)}`]),
    ...(fields.length === 0 && !isUnchanged(base, future)
      ? ['the sample has no field with several dates to try another by']
      : []),
  ];
  const finding = { param, evidence };
  if (isUnchanged(base, future) || (inside !== undefined && isUnchanged(base, inside)))
    return { ...finding, verdict: 'ignored' };
  const isLater = field !== undefined && inside !== undefined && isFewer(base, inside);
  if (isEmpty(future) && isLater) return { ...finding, verdict: 'honoured', field: field.field };
  const isRefused = future.kind === 'refused' && (inside === undefined || inside.kind === 'refused');
  return { ...finding, verdict: isRefused ? 'refused' : 'undecided' };
}

/** A question about a filter, and what came. */
export interface AskedValue {
  readonly column: SampledColumn;
  readonly value: string;
  readonly answer: ProbeAnswer;
}

/** What came without a filter, and with values of it. */
interface FilterAnswers {
  readonly base: RowsAnswer;
  readonly asked: readonly AskedValue[];
  /** The answer to a value that nothing has; undefined where it was not asked for. */
  readonly nonsense: ProbeAnswer | undefined;
}

/** What the answers to values of the sample, and to one that nothing has, say. */
export function judgeFilter(
  plan: FilterPlan,
  answers: FilterAnswers,
  { showsValues }: JudgeOptions,
): ParamFinding {
  const { base, asked, nonsense } = answers;
  const { param } = plan;
  const evidence = [
    ...asked.map(({ column, value, answer }) => {
      const shown = showsValues ? value : `a value of ${column.field}`;
      return `${param}=${shown}: ${tell(base, answer)}${tellMatch(column, value, answer)}`;
    }),
    ...(nonsense === undefined ? [] : [`${param}=${plan.nonsense}: ${tell(base, nonsense)}`]),
  ];
  return { param, verdict: chooseVerdict(answers), evidence };
}

/** Whether fewer records came, and each of them has the value asked for. */
export function isNarrowed(base: RowsAnswer, { column, value, answer }: AskedValue): boolean {
  return isFewer(base, answer) && hasOnly(column, value, answer);
}

/** Whether the parameter changed nothing although records have other values. */
export function isIgnored(base: RowsAnswer, { column, value, answer }: AskedValue): boolean {
  return isUnchanged(base, answer) && !hasOnly(column, value, answer);
}

function chooseVerdict({ base, asked, nonsense }: FilterAnswers): ParamFinding['verdict'] {
  if (asked.some((one) => isNarrowed(base, one))) return 'honoured';
  if (asked.some((one) => isIgnored(base, one))) return 'ignored';
  if (nonsense !== undefined && isUnchanged(base, nonsense)) return 'ignored';
  // A value that nothing has empties the answer, and one that all records have leaves it as it is.
  const isUnharmed = asked.every(
    ({ column, value, answer }) => isUnchanged(base, answer) && hasOnly(column, value, answer),
  );
  if (nonsense !== undefined && isEmpty(nonsense) && isUnharmed) return 'honoured';
  if (asked.length > 0 && asked.every(({ answer }) => answer.kind === 'refused')) return 'refused';
  return 'undecided';
}

function isEmpty(answer: ProbeAnswer): boolean {
  return answer.kind === 'rows' && answer.rows === 0;
}

/** Fewer records than without the parameter, and not none. */
function isFewer(base: RowsAnswer, answer: ProbeAnswer): boolean {
  if (answer.kind !== 'rows' || answer.rows === undefined || answer.rows === 0) return false;
  return base.rows === undefined || answer.rows < base.rows;
}

function hasOnly(column: SampledColumn, value: string, answer: ProbeAnswer): boolean {
  if (answer.kind !== 'rows') return false;
  return answer.records.every((record) => String(readField(record, column.path)) === value);
}

function findLaterField({ fields }: StartDatePlan, answer: RowsAnswer): SampledColumn | undefined {
  const asked = toMoment(fields[0]?.date ?? '');
  if (answer.records.length === 0) return undefined;
  const isLater = (value: unknown) => toMoment(String(value).slice(0, 10)) >= asked;
  return fields.find(({ column }) =>
    answer.records.every((record) => isLater(readField(record, column.path))),
  )?.column;
}

function tell(base: RowsAnswer, answer: ProbeAnswer): string {
  if (answer.kind === 'unknown') return answer.text;
  if (answer.kind === 'refused') return `refused, ${answer.text}`;
  if (answer.rows === 0) return 'no rows';
  if (isUnchanged(base, answer))
    return answer.rows === undefined
      ? 'the same rows as without it'
      : `the same ${formatCountOf(answer.rows, 'row')} as without it`;
  if (answer.rows === undefined) return 'many rows';
  return base.rows === undefined
    ? formatCountOf(answer.rows, 'row')
    : `${formatCount(answer.rows)} of ${formatCountOf(base.rows, 'row')}`;
}

function tellLater(field: SampledColumn | undefined): string {
  return field === undefined ? '' : `, none received has an earlier ${field.field}`;
}

function tellMatch(column: SampledColumn, value: string, answer: ProbeAnswer): string {
  if (answer.kind !== 'rows' || answer.records.length === 0) return '';
  const others = answer.records.filter((record) => String(readField(record, column.path)) !== value).length;
  const { length } = answer.records;
  if (others === 0) return `, all ${formatCount(length)} received have that ${column.field}`;
  return `, ${formatCount(others)} of ${formatCount(length)} received have another ${column.field}`;
}
