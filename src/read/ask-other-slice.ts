import { canonicalText } from '../json/fingerprint.ts';
import { isUnchanged } from '../discover/judge-params.ts';
import { NONSENSE } from '../discover/plan-probes.ts';
import { toSyncError } from '../model/errors.ts';
import type { ParamValue, Stream } from '../model/stream.ts';
import { readStagedRecords } from '../stage/staged-records.ts';
import { askFirst, type FirstAnswer } from './ask-first.ts';
import type { Comparing } from '../run/run-context.ts';
import type { FetchedScan } from '../run/scan.ts';
import { listDifferingFields } from './differing-fields.ts';

/** A scan of one slice. */
interface SliceScan {
  readonly stream: Stream;
  readonly scan: FetchedScan;
}

/** A different request that returned the same as the slice. */
export interface AnswerAlike {
  readonly params: readonly string[];
  /** As a part of a sentence. */
  readonly because: string;
}

/** What is asked about a slice. */
export interface ParamQuestion {
  readonly params: readonly string[];
  /** Whether to request another slice as well: an API that rejects unknown values may still ignore valid ones. */
  readonly asksOthers: 'always' | 'if-refused' | 'never';
}

/** Percentage of a page's records that may change between two requests. */
const MOST_MOVED = 10;

/**
 * Requests a nonexistent value for each parameter, then possibly another slice. Returns the first response equal to
 * the slice's own, which is requested again for comparison; undefined if all differ.
 */
export async function findAnswerAlike(
  context: Comparing,
  slice: SliceScan,
  { params, asksOthers }: ParamQuestion,
): Promise<AnswerAlike | undefined> {
  const { stream } = slice;
  const ask = (values: Readonly<Record<string, ParamValue>>) => askWith(context, slice, values);
  let isRefused = false;
  for (const param of params) {
    const answer = await ask({ ...stream.slice?.values, [param]: NONSENSE });
    if (await isAlike(context, slice, answer))
      return { params: [param], because: `${param}=${NONSENSE} returns the same` };
    isRefused ||= answer === undefined;
  }
  const asks = asksOthers === 'always' || (asksOthers === 'if-refused' && isRefused);
  const other = asks ? findOther(stream, params) : undefined;
  if (other === undefined || !(await isAlike(context, slice, await ask(other.values)))) return undefined;
  return { params, because: `${other.id} returns the same` };
}

/** A slice that differs in the given parameters and in as few others as possible. */
function findOther(stream: Stream, params: readonly string[]): Stream['slices'][number] | undefined {
  const values = stream.slice?.values ?? {};
  const countSame = (other: Stream['slices'][number]) =>
    Object.keys(values).filter((name) => !params.includes(name) && other.values[name] === values[name])
      .length;
  return stream.slices
    .filter((other) => params.some((name) => other.values[name] !== values[name]))
    .toSorted((a, b) => countSame(b) - countSame(a))[0];
}

/** Whether a response equals the slice's own. A rejected or empty one shows that the value was used. */
async function isAlike(
  context: Comparing,
  { stream, scan }: SliceScan,
  answer: FirstAnswer | undefined,
): Promise<boolean> {
  if (answer === undefined || answer.page.records.length === 0) return false;
  const own = await askFirst(context, stream, scan.plan.from);
  if (isUnchanged(own.rows, answer.rows)) return true;
  const restless = await findRestlessFields(scan.recordsFile, own.rows.records);
  return isNearlyUnchanged(own, answer, restless);
}

/** If the data changes between two requests, equal requests differ slightly. */
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

/**
 * The few fields that change on every request, such as a timestamp: each record differs in them from its staged
 * version.
 */
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

/** The start of a response; undefined if the API rejects the request. Throws what would fail a slice as well. */
async function askWith(
  context: Comparing,
  { stream, scan }: SliceScan,
  values: Readonly<Record<string, ParamValue>>,
): Promise<FirstAnswer | undefined> {
  // Asked as the scan asked: an API may ignore the parameter only together with a start date.
  const { from } = scan.plan;
  try {
    return await askFirst(context, { ...stream, params: { ...stream.params, ...values } }, from);
  } catch (thrown) {
    const { recovery, exitCode, code } = toSyncError(thrown);
    if (recovery === 'stop-run' || (exitCode === 75 && code !== 'server_failed')) throw thrown;
    // A server may fail on an unknown value; if it fails on the slice as well, it is down.
    if (code === 'server_failed') await askFirst(context, stream, from);
    return undefined;
  }
}
