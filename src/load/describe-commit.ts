import { describeDeferral, describeDifference } from '../model/describe-difference.ts';
import type { SchemaChange } from '../model/run-report.ts';
import { type Checkpoint, nameOf, sliceIdOf, type Stream } from '../model/stream.ts';
import { formatCountOf, verbOf } from '../text/format-count.ts';
import { findDeferral } from '../plan/plan-scan.ts';
import type { CommittedScan, FetchedScan } from '../run/scan.ts';
import { describeKept, describeMarkedGone } from './absent-rows.ts';
import type { MergedCommit } from './apply-commit.ts';
import type { Commit } from './begin-commit.ts';
import { isBeyondGuard } from './compare-counts.ts';
import { warnOfDifference } from './confirm-count.ts';
import type { CommitCount } from './count-commit.ts';
import { describeGone } from './gone-rows.ts';
import { describeRehashed, startOver } from './rehashed-key.ts';
import { describeLeftApi, describeNewColumns, findDueReason } from './settle-counts.ts';

/** The whole result of a commit. */
export interface CommitResult {
  readonly merged: MergedCommit;
  readonly counted: CommitCount;
  readonly schemaChanges: readonly SchemaChange[];
  /** Why rows due for deletion stay. */
  readonly keptBecause: string | undefined;
}

/** A commit as it is recorded. */
export interface DescribedCommit {
  readonly committed: CommittedScan;
  /** New columns without values in older rows, in words; the other slices have them too. */
  readonly newColumns: string | undefined;
  readonly warnings: readonly string[];
}

/** Describes the result of a commit, and why the next full refresh should not wait. Pure. */
export function describeCommit(commit: Commit, result: CommitResult): DescribedCommit {
  const { stream, scan, load, checkpoint, decision, moved } = commit;
  const { schemaChanges, keptBecause } = result;
  const { merged: counts, left, rowsInTable, kept } = result.merged;
  const { markedGone, ...merged } = counts;
  const { isCounted, different, suspectedOn } = result.counted;
  const newColumns = describeNewColumns(scan, load, schemaChanges, kept);
  const reached = reachCheckpoint(commit, result.counted, newColumns);
  const rehashed = decision.absent === 'keep' ? describeRehashed(stream, load, merged.inserted) : [];
  return {
    committed: {
      rows: {
        read: scan.rows,
        ...merged,
        deleted: merged.deleted + left.deleted,
        quarantined: load.rejected.count,
      },
      rowsInTable,
      rowsInApi: scan.plan.mode === 'full' ? scan.total : (scan.counted?.rows ?? undefined),
      difference: isCounted ? reached.counts?.difference : undefined,
      schemaChanges,
      notes: [
        ...describeEmpty(stream, scan),
        ...describeScope(commit),
        ...describeKept(scan, decision, kept, load.rejected.count),
        ...describeGone(commit, decision, suspectedOn),
        ...(keptBecause === undefined ? [] : [`nothing was deleted: ${keptBecause}`]),
        ...(isCounted ? describeLeftApi(checkpoint?.counts, reached.counts) : []),
        ...[newColumns && addDeferral(newColumns, commit, reached), moved].filter(
          (note) => note !== undefined,
        ),
        ...describeMarkedGone(markedGone + left.markedGone),
        ...left.notes,
      ],
      checkpoint: reached,
    },
    newColumns,
    warnings: [
      ...left.warnings,
      ...rehashed,
      ...warnOfAccepted(commit, kept),
      ...(different === undefined ? [] : [warnOfDifference(different, stream)]),
    ],
  };
}

function addDeferral(note: string, { stream, at }: Commit, reached: Checkpoint): string {
  const fromMs = findDeferral(stream, reached, Date.parse(at));
  return fromMs === undefined ? note : `${note}; ${describeDeferral(stream.name, fromMs)}`;
}

function reachCheckpoint(
  { stream, scan, next, checkpoint, moved }: Commit,
  { counts, different }: CommitCount,
  newColumns: string | undefined,
): Checkpoint {
  const fullRefreshDue = findDueReason(scan, checkpoint?.fullRefreshDue, [
    different && !isBeyondGuard(stream, different) ? describeDifference(different) : undefined,
    newColumns,
    moved,
  ]);
  return { ...next, fullRefreshDue, counts };
}

/** A scan of the newest days says nothing about the others, where no full scan was verified. */
function describeScope({ scan, next }: Commit): readonly string[] {
  if (scan.verdict !== 'verified' || next.wholeAt !== undefined || next.provedFrom === undefined) return [];
  return [`only rows from ${next.provedFrom} on are verified: no full scan was`];
}

/** With a key that was accepted without a look at its rows, those that it does not return may be another account's. */
function warnOfAccepted({ stream, scan, checkpoint, options }: Commit, kept: number): readonly string[] {
  const isUnread = checkpoint !== undefined && checkpoint.lastFullScanAt === undefined;
  if (options.acceptNewKey !== true || !isUnread || scan.plan.mode !== 'full' || kept <= 0) return [];
  return [
    `${nameOf(stream)}: ${formatCountOf(kept, 'row')} of the table did not come with the accepted key and ${verbOf(kept, 'stays', 'stay')}. If they are of another account, start over: ${startOver(stream)}`,
  ];
}

/** A mistyped slice value gets the same answer as one without records. */
function describeEmpty(stream: Stream, { plan, rows }: FetchedScan): readonly string[] {
  if (plan.mode !== 'full' || rows > 0) return [];
  return [`the API has no records${stream.slice === undefined ? '' : ` of the slice ${sliceIdOf(stream)}`}`];
}
