import { writeCheckpoint } from '../../state/checkpoints.ts';
import { writeStreamRun } from '../../state/runs.ts';
import type { StreamReport } from '../model/run-report.ts';
import type { Loading, RunContext } from '../run/run-context.ts';
import type { CommittedScan } from '../run/scan.ts';
import type { CommitStep } from '../run/step.ts';
import type { LoadedScan, PlannedScan } from '../run/turn.ts';
import { dropFirst } from '../warehouse/incoming.ts';
import { applyCommit, evolveForCommit } from './apply-commit.ts';
import { commentTable, listNullable } from './comment-table.ts';
import { beginCommit, type Commit } from './begin-commit.ts';
import { bringForward } from './confirm-count.ts';
import { countCommit } from './count-commit.ts';
import { describeCommit, type DescribedCommit } from './describe-commit.ts';
import { planCommit } from './plan-commit.ts';

/** How a commit is recorded. */
export interface CommitRecord {
  readonly describe: (committed: CommittedScan) => StreamReport;
  /** Writes the run's own row, with the stream's report in it. */
  readonly saveRun: (report: StreamReport) => Promise<void>;
}

/** A commit as its transaction leaves it. */
interface RecordedCommit {
  readonly report: StreamReport;
  readonly warnings: readonly string[];
}

/**
 * Writes a scan's rows, its checkpoint and its record in one transaction: a crash keeps all or nothing
 * (invariant 1). Nothing is written if something else must take its place.
 */
export async function commitScan(
  context: RunContext,
  turn: PlannedScan,
  loaded: LoadedScan,
  record: CommitRecord,
): Promise<CommitStep<StreamReport>> {
  const { database, emit } = context;
  const begun = await beginCommit(context, turn, loaded);
  if (!('done' in begun)) return begun;
  // Frees memory left over from reading and packing records, which the merge needs.
  await database.trim();
  const { name } = turn.stream;
  emit({ type: 'stream-committing', stream: name });
  // A transaction that ran out of memory is repeated: its result is its value.
  const step = await database.transaction(
    () => writeCommit(context, begun.done, record),
    (result) => 'done' in result,
  );
  if (!('done' in step)) return step;
  const { report, warnings } = step.done;
  emit({ type: 'stream-committed', stream: name });
  for (const message of warnings) emit({ type: 'warning', stream: name, message });
  // The commit is valid even if this fails; publishing writes the log again and reports errors.
  await database.settleLog().catch(() => undefined);
  // A rebuild, which has no early work, drops them nowhere else.
  await dropFirst(database).catch(() => undefined);
  return { done: report };
}

async function writeCommit(
  context: Loading,
  commit: Commit,
  record: CommitRecord,
): Promise<CommitStep<RecordedCommit>> {
  const schemaChanges = await evolveForCommit(context, commit);
  const nullable = await listNullable(context.database, commit.stream, commit.load.columns);
  const planned = await planCommit(context, commit);
  if (!('done' in planned)) return planned;
  const { merge, keptBecause } = planned.done;
  const merged = await applyCommit(context, commit, merge);
  const counted = await countCommit(context, commit, merged);
  if (!('done' in counted)) return counted;
  const result = { merged, counted: counted.done, schemaChanges, keptBecause };
  const described = describeCommit(commit, result);
  return { done: await recordCommit(context, { stream: commit.stream, nullable }, described, record) };
}

async function recordCommit(
  context: Loading,
  { stream, nullable }: Pick<Commit, 'stream'> & { readonly nullable: ReadonlySet<string> },
  { committed, newColumns, warnings }: DescribedCommit,
  { describe, saveRun }: CommitRecord,
): Promise<RecordedCommit> {
  const { database, runId } = context;
  await writeCheckpoint(database, committed.checkpoint);
  if (newColumns !== undefined && stream.slice !== undefined)
    await bringForward(database, stream.name, newColumns);
  await commentTable(context, stream, nullable);
  const report = describe(committed);
  await writeStreamRun(database, runId, report);
  await saveRun(report);
  return { report, warnings };
}
