import {
  type AskedValue,
  isIgnored,
  isNarrowed,
  isUnchanged,
  judgeFilter,
  type JudgeOptions,
  judgeStartDate,
  type ProbeAnswer,
  type RowsAnswer,
} from '../../discover/judge-params.ts';
import type { FilterPlan, ParamPlan, StartDatePlan } from '../../discover/plan-probes.ts';
import type { ParamFinding } from '../../model/discover-report.ts';
import { toSyncError } from '../../model/errors.ts';
import type { ParamValue, Stream } from '../../model/stream.ts';
import type { Asking } from '../../read/sample-document.ts';
import { askFirst } from '../../read/ask-first.ts';

/** An endpoint whose parameters are tried. */
interface ProbedEndpoint {
  readonly asking: Asking;
  readonly stream: Stream;
  /** Its answer without the parameter. */
  readonly base: RowsAnswer;
}

/** Finds out what an endpoint does with one parameter; throws only what would fail every request. */
export async function probeParam(
  { asking, stream, base }: ProbedEndpoint,
  plan: ParamPlan,
  options: JudgeOptions,
): Promise<ParamFinding> {
  const ask = (value: ParamValue) => askWith(asking, stream, plan.param, value);
  return plan.kind === 'start-date'
    ? probeStartDate(plan, base, ask, options)
    : probeFilter(plan, base, ask, options);
}

type Ask = (value: ParamValue) => Promise<ProbeAnswer>;

async function probeStartDate(
  plan: StartDatePlan,
  base: RowsAnswer,
  ask: Ask,
  options: JudgeOptions,
): Promise<ParamFinding> {
  const future = await ask(plan.future);
  const date = plan.fields[0]?.date;
  // A date that changes nothing in the future changes nothing in the past.
  const inside = date === undefined || isUnchanged(base, future) ? undefined : await ask(date);
  return judgeStartDate(plan, { base, future, inside }, options);
}

async function probeFilter(
  plan: FilterPlan,
  base: RowsAnswer,
  ask: Ask,
  options: JudgeOptions,
): Promise<ParamFinding> {
  const asked: AskedValue[] = [];
  for (const { column, value } of plan.values) {
    const one = { column, value, answer: await ask(value) };
    asked.push(one);
    if (isIgnored(base, one)) return judgeFilter(plan, { base, asked, nonsense: undefined }, options);
    if (isNarrowed(base, one)) break;
  }
  return judgeFilter(plan, { base, asked, nonsense: await ask(plan.nonsense) }, options);
}

async function askWith(
  asking: Asking,
  stream: Stream,
  param: string,
  value: ParamValue,
): Promise<ProbeAnswer> {
  try {
    return (await askFirst(asking, { ...stream, params: { ...stream.params, [param]: value } })).rows;
  } catch (thrown) {
    const error = toSyncError(thrown);
    if (error.recovery === 'stop-run') throw error;
    // The error names the stream and the offset, as the report already does.
    const text = error.message.replace(/^.*?: the API answered (?=\d)/, '');
    const isRefusal = ['request_rejected', 'stream_not_found', 'key_forbidden'].includes(error.code);
    return { kind: isRefusal ? 'refused' : 'unknown', text };
  }
}
