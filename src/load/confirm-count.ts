import { adviseTooManyGone, describeDeferral, describeDifference } from '../model/describe-difference.ts';
import { sliceIdOf, type Checkpoint, type CountedRows, type Stream } from '../model/stream.ts';
import type { Database } from '../warehouse/database.ts';
import { countMissingRows } from '../warehouse/missing-rows.ts';
import { countOwnRecords } from '../warehouse/record-versions.ts';
import type { TableChange } from '../warehouse/merge-rows.ts';
import { findNextForward, isDayOver, mayBringForward } from '../plan/plan-scan.ts';
import type { Loading } from '../run/run-context.ts';
import type { FetchedScan, PreparedLoad } from '../run/scan.ts';
import { type NotCommitted, readInFull } from '../run/step.ts';
import type { AbsentDecision } from './absent-rows.ts';
import { windowOf } from './asked-days.ts';
import { isBeyondGuard, keepsGone } from './compare-counts.ts';
import { type AbsenceDecision, judgeAbsence } from './judge-absence.ts';
import { type DatedTable, listDaysToAsk } from './oldest-left.ts';
import { describeVersions } from './unseen-records.ts';

/** An incremental scan and the rows of its days that would be deleted or replaced. */
export interface AbsenceQuestion {
  readonly stream: Stream;
  readonly scan: FetchedScan;
  readonly load: PreparedLoad;
  readonly decision: AbsentDecision;
  readonly before: CountedRows | undefined;
}

/** Prepares the check before a merge deletes rows. */
export async function prepareJudge(
  context: Loading,
  { stream, scan, load, decision, before }: AbsenceQuestion,
): Promise<(change: TableChange) => AbsenceDecision> {
  const { database } = context;
  const { replaces } = decision;
  const slice = sliceIdOf(stream);
  const window = windowOf(scan, load);
  const isBlind = replaces && scan.counted?.rows === null && load.tableExisted;
  const missing =
    isBlind && window !== undefined
      ? (await countMissingRows(database, stream.table, slice, window)).missing
      : 0;
  const held = await countOwnRecords(database, describeVersions(context, stream, load));
  return (change) => {
    const facts = { counted: scan.counted, isPaginated: stream.paginated, replaces, change, before, missing };
    return judgeAbsence({ ...facts, quarantined: held + load.rejected.count });
  };
}

/** A difference between the table and the API's count, with what may explain it. */
export interface DifferenceQuestion {
  readonly stream: Stream;
  readonly scan: FetchedScan;
  readonly counts: CountedRows;
  readonly checkpoint: Checkpoint | undefined;
  /** The table's rows by the cursor's days. */
  readonly dated: DatedTable | undefined;
}

/**
 * What takes the place of a commit that shows a difference: one with a new count, then a full scan if the quota allows
 * it and the last full scan is not recent. Undefined if the difference remains.
 */
export async function settleDifference(question: DifferenceQuestion): Promise<NotCommitted | undefined> {
  const { stream, scan, counts, checkpoint, dated } = question;
  const { counted } = scan;
  if (counted?.again !== undefined) {
    const mayHaveLeft = keepsGone(stream) && dated !== undefined;
    return { recount: mayHaveLeft ? await listDaysToAsk(dated, scan.plan.from, counts) : [] };
  }
  if (isBeyondGuard(stream, counts)) return undefined;
  const mayRefresh = mayBringForward(checkpoint, Date.parse(counts.at));
  if (counted?.canReadInFull !== true || !mayRefresh) return undefined;
  return { instead: readInFull(describeDifference(counts), { isBroughtForward: true }) };
}

/** Brings the full scan of every slice forward: what one of them showed applies to all. */
export async function bringForward(database: Database, stream: string, reason: string): Promise<void> {
  await database.run(
    'UPDATE _sluice.checkpoints SET full_refresh_due = $2 WHERE stream = $1 AND full_refresh_due IS NULL',
    [stream, reason],
  );
}

function sayWhen({ at, broughtForwardAt }: CountedRows, stream: Stream): string {
  if (broughtForwardAt === undefined || isDayOver(broughtForwardAt, Date.parse(at)))
    return 'the next sync reads the stream in full, as soon as the quota has room for it';
  return describeDeferral(stream.name, findNextForward(broughtForwardAt));
}

/** Explains a difference and what happens next. */
export function warnOfDifference(counts: CountedRows, stream: Stream): string {
  const next = isBeyondGuard(stream, counts) ? adviseTooManyGone(stream.name) : sayWhen(counts, stream);
  return `${describeDifference(counts)}; ${next}`;
}
