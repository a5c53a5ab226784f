import { canonicalText } from '../../json/fingerprint.ts';
import { isUnchanged } from '../../discover/judge-params.ts';
import { NONSENSE } from '../../discover/plan-probes.ts';
import { toSyncError } from '../../model/errors.ts';
import type { ParamValue, Stream } from '../../model/stream.ts';
import { readStagedRecords } from '../../warehouse/staged-records.ts';
import { askFirst, type FirstAnswer } from './ask-first.ts';
import type { RunContext } from '../run-context.ts';
import type { FetchedScan } from '../scan.ts';
import { listDifferingFields } from './differing-fields.ts';

/** A scan of one slice. */
interface SliceScan {
  readonly stream: Stream;
  readonly scan: FetchedScan;
}

/** What was asked besides the slice itself, and brought the same. */
export interface AnswerAlike {
  readonly params: readonly string[];
  /** As a part of a sentence. */
  readonly because: string;
}

/** What is asked about a slice. */
export interface ParamQuestion {
  readonly params: readonly string[];
  /** Whether another slice is asked for: an API that refuses what it does not know may still narrow by nothing. */
  readonly asksOthers: 'always' | 'if-refused' | 'never';
}

/** Records of one page that may have moved while it was asked for twice: of a hundred. */
const MOST_MOVED = 10;

/**
 * Asks for a value that nothing has in place of each parameter's, then perhaps for another slice. Finds the first
 * answer that is that of the slice itself, which is asked for again beside it; undefined where all differ.
 */
export async function findAnswerAlike(
  context: RunContext,
  slice: SliceScan,
  { params, asksOthers }: ParamQuestion,
): Promise<AnswerAlike | undefined> {
  const { stream } = slice;
  const ask = (values: Readonly<Record<string, ParamValue>>) => askWith(context, stream, values);
  let isRefused = false;
  for (const param of params) {
    const answer = await ask({ ...stream.slice?.values, [param]: NONSENSE });
    if (await isAlike(context, slice, answer))
      return { params: [param], because: `${param}=${NONSENSE} brings the same` };
    isRefused ||= answer === undefined;
  }
  const asks = asksOthers === 'always' || (asksOthers === 'if-refused' && isRefused);
  const other = asks ? findOther(stream, params) : undefined;
  if (other === undefined || !(await isAlike(context, slice, await ask(other.values)))) return undefined;
  return { params, because: `${other.id} brings the same` };
}

/** A slice that differs in the parameters asked about, and in as few others as there are. */
function findOther(stream: Stream, params: readonly string[]): Stream['slices'][number] | undefined {
  const values = stream.slice?.values ?? {};
  const countSame = (other: Stream['slices'][number]) =>
    Object.keys(values).filter((name) => !params.includes(name) && other.values[name] === values[name])
      .length;
  return stream.slices
    .filter((other) => params.some((name) => other.values[name] !== values[name]))
    .toSorted((a, b) => countSame(b) - countSame(a))[0];
}

/** Whether an answer is the slice's own. One that was refused, or is empty, shows that the value was looked at. */
async function isAlike(
  context: RunContext,
  { stream, scan }: SliceScan,
  answer: FirstAnswer | undefined,
): Promise<boolean> {
  if (answer === undefined || answer.page.records.length === 0) return false;
  const own = await askFirst(context, stream);
  if (isUnchanged(own.rows, answer.rows)) return true;
  const restless = await findRestlessFields(scan.recordsFile, own.rows.records);
  return isNearlyUnchanged(own, answer, restless);
}

/** Data that moves between two requests makes equal questions differ by a little. */
function isNearlyUnchanged(
  { rows: own }: FirstAnswer,
  { rows: other }: FirstAnswer,
  restless: readonly string[],
): boolean {
  const toText = (record: Readonly<Record<string, unknown>>) => canonicalText(omit(record, restless));
  const known = new Set(own.records.map(toText));
  const alike = other.records.filter((record) => known.has(toText(record))).length;
  const most = Math.max(own.records.length, other.records.length);
  const isSameSize = Math.abs((own.rows ?? 0) - (other.rows ?? 0)) * 100 <= (own.rows ?? 0);
  return isSameSize && (most - alike) * 100 <= most * MOST_MOVED;
}

/** The few fields that are other ones at every answer, as a stamp is: those in which each record differs from when it was staged. */
async function findRestlessFields(
  recordsFile: string,
  records: readonly Readonly<Record<string, unknown>>[],
): Promise<readonly string[]> {
  const differing: (readonly string[] | undefined)[] = [];
  for await (const staged of readStagedRecords(recordsFile)) {
    for (const { position, value } of staged) {
      const now = records[position];
      if (now !== undefined) differing.push(listDifferingFields(value, now));
    }
    if (differing.length >= records.length) break;
  }
  const [first = [], ...rest] = differing;
  return first.filter((name) => rest.every((names) => names?.includes(name) === true));
}

function omit(record: Readonly<Record<string, unknown>>, names: readonly string[]): unknown {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
}

/** The beginning of an answer; undefined where the API refuses the question. Throws what a slice would fail by as well. */
async function askWith(
  context: RunContext,
  stream: Stream,
  values: Readonly<Record<string, ParamValue>>,
): Promise<FirstAnswer | undefined> {
  try {
    return await askFirst(context, { ...stream, params: { ...stream.params, ...values } });
  } catch (thrown) {
    const { recovery, exitCode, code } = toSyncError(thrown);
    if (recovery === 'stop-run' || (exitCode === 75 && code !== 'server_failed')) throw thrown;
    // A server may fail at a value that it does not know; one that fails at the slice as well is out of order.
    if (code === 'server_failed') await askFirst(context, stream);
    return undefined;
  }
}
