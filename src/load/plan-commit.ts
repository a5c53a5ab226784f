import type { Loading } from '../run/run-context.ts';
import { type CommitStep, type NotCommitted, readInFull } from '../run/step.ts';
import { keepAbsent, type MergePlan, planMerge } from '../warehouse/merge-rows.ts';
import { refuseLoss } from './absent-rows.ts';
import type { Commit } from './begin-commit.ts';
import { prepareJudge } from './confirm-count.ts';
import type { AbsenceDecision } from './judge-absence.ts';
import { findAdoption } from './removed-slices.ts';

/** How a commit's rows are merged. */
export interface PlannedMerge {
  readonly merge: MergePlan;
  /** Why rows due for deletion stay: the API's count does not confirm that they are gone. */
  readonly keptBecause: string | undefined;
}

/**
 * Plans the merge of a commit whose columns are in the table. What would be deleted needs a confirmation: without it
 * the rows stay, or something else takes the commit's place. Writes no table.
 *
 * @throws RowLossError where too many rows would be deleted
 */
export async function planCommit(context: Loading, commit: Commit): Promise<CommitStep<PlannedMerge>> {
  const { database, runId } = context;
  const { stream, load, decision, slice, at } = commit;
  const columns = load.columns.filter(({ type }) => type !== 'NULL').map(({ name }) => name);
  const merge = await planMerge(database, {
    table: stream.table,
    columns,
    key: load.key?.columns,
    absent: decision.absent,
    insertOnly: stream.write === 'append',
    slice,
    adoptBy: await findAdoption(context, stream, columns),
    history: stream.history,
    runId,
    syncedAt: at,
  });
  const isWindow = decision.absent !== 'keep' && decision.absent.window !== undefined;
  const judged = isWindow ? (await prepareJudge(context, commit))(merge.change) : APPLY;
  if (judged.kind === 'keep')
    return { done: { merge: await keepAbsent(database, merge), keptBecause: judged.because } };
  if (judged.kind !== 'apply') return toNotCommitted(judged);
  refuseLoss(commit, decision, merge.change);
  return { done: { merge, keptBecause: undefined } };
}

const APPLY: AbsenceDecision = { kind: 'apply' };

/** What takes the place of a commit whose deletions were not confirmed. */
function toNotCommitted(
  judged: Extract<AbsenceDecision, { kind: 'recount' | 'read-in-full' }>,
): NotCommitted {
  if (judged.kind === 'recount') return { recount: [] };
  return { instead: readInFull(judged.because, { isBroughtForward: true }) };
}
