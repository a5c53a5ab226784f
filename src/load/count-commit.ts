import type { CountedRows } from '../model/stream.ts';
import type { Loading } from '../run/run-context.ts';
import type { FetchedScan, PreparedLoad } from '../run/scan.ts';
import type { CommitStep } from '../run/step.ts';
import { countBefore } from '../warehouse/oldest-rows.ts';
import { countOwnRecords } from '../warehouse/record-versions.ts';
import type { MergedCommit } from './apply-commit.ts';
import type { Commit } from './begin-commit.ts';
import { settleDifference } from './confirm-count.ts';
import { findGone, type SuspectedRows } from './gone-rows.ts';
import { countSinceDays, type DatedTable, findDatedTable } from './oldest-left.ts';
import { countTable, type MergedTable } from './settle-counts.ts';
import { describeVersions } from './unseen-records.ts';

/** What the count of a commit shows. */
export interface CommitCount {
  readonly counts: CountedRows | undefined;
  /** An incremental scan asked the API for its count, and got one. */
  readonly isCounted: boolean;
  /** The same counts, if they differ from the API's. */
  readonly different: CountedRows | undefined;
  readonly suspectedOn: SuspectedRows;
}

/** Compares the merged table with the API's count; a difference may need another attempt. Reads only. */
export async function countCommit(
  context: Loading,
  commit: Commit,
  { rowsInTable, kept }: MergedCommit,
): Promise<CommitStep<CommitCount>> {
  const { database } = context;
  const { stream, scan, load, next, checkpoint, at, windowDate, before } = commit;
  const { gone, suspectedOn } = await findGone(context, stream, { scan, load }, { next, kept });
  const dated = await findDatedTable(context, stream, scan, load);
  const counts = countTable({
    scan,
    at,
    rowsInTable,
    gone,
    windowDate,
    suspectedOn,
    oldest: await findOldest(dated, scan, load),
    since: scan.counted && (await countSinceDays(dated, scan.counted, checkpoint?.counts)),
    quarantined: await countOwnRecords(database, describeVersions(context, stream, load)),
    stream,
    before,
  });
  const isCounted = typeof scan.counted?.rows === 'number';
  const different = isCounted && counts !== undefined && counts.difference !== 0 ? counts : undefined;
  const unsettled =
    different && (await settleDifference({ stream, scan, counts: different, checkpoint, dated }));
  return unsettled ?? { done: { counts, isCounted, different, suspectedOn } };
}

/** The oldest day that a full scan brought, and the table's rows before it. */
async function findOldest(
  dated: DatedTable | undefined,
  { plan }: FetchedScan,
  { oldestCursor }: PreparedLoad,
): Promise<MergedTable['oldest']> {
  if (dated === undefined || plan.mode !== 'full' || oldestCursor === undefined) return undefined;
  return { date: oldestCursor, before: await countBefore(dated, oldestCursor) };
}
