import { writeCheckpoint, writeContract } from '../../state/checkpoints.ts';
import type { SchemaChange } from '../model/run-report.ts';
import type { LearnedColumn } from '../model/stream.ts';
import type { Loading } from '../run/run-context.ts';
import type { PreparedLoad } from '../run/scan.ts';
import { evolveTable } from '../warehouse/evolve-table.ts';
import { countLiveRows } from '../warehouse/live-rows.ts';
import { applyMerge, type MergeCounts, type MergePlan } from '../warehouse/merge-rows.ts';
import { INCOMING } from '../warehouse/incoming.ts';
import { quarantineRejected, releaseAccepted } from '../warehouse/quarantine.ts';
import type { Commit } from './begin-commit.ts';
import { learnElements } from './learn-elements.ts';
import { applyColumnChanges, rememberMasks } from './plan-columns.ts';
import { type SettledSlices, settleRemovedSlices } from './removed-slices.ts';
import { markUnseen } from './unseen-records.ts';

/** A commit after its rows were merged. */
export interface MergedCommit {
  readonly merged: MergeCounts;
  /** Rows of slices that the config no longer has. */
  readonly left: SettledSlices;
  /** Live rows of the table, or of the slice. */
  readonly rowsInTable: number;
  /** Of these, rows that the scan did not bring. */
  readonly kept: number;
}

/**
 * Brings the table's columns up to date, and marks quarantined records that the API no longer has. Call first in the
 * transaction: an ALTER after other changes of its table makes the commit fail.
 */
export async function evolveForCommit(
  context: Loading,
  { stream, scan, load, next }: Commit,
): Promise<readonly SchemaChange[]> {
  const { database } = context;
  const settled = await applyColumnChanges(database, stream, load.columns, load.columnChanges);
  const table = { name: stream.table, exists: load.tableExisted };
  const evolved = await evolveTable(database, table, settled.columns, {
    sliced: stream.slice !== undefined,
    softDeletes: stream.deletes === 'soft',
    history: stream.history,
  });
  await markUnseen(context, stream, { scan, load }, next);
  return [...settled.changes, ...evolved];
}

/** Writes rows, quarantine, contract and checkpoint. */
export async function applyCommit(context: Loading, commit: Commit, merge: MergePlan): Promise<MergedCommit> {
  const { database, runId } = context;
  const { stream, scan, load, next, slice, at } = commit;
  const scope = { stream: stream.name, slice };
  const merged = await applyMerge(database, merge);
  await rememberMasks(database, stream, load.columnChanges);
  const written = merged.inserted + merged.updated;
  // Rows that were read and not written say nothing about the table.
  const seen = written === load.elements?.records ? load.elements : undefined;
  await learnElements(context, stream, written > 0 ? 'written' : 'none', seen);
  await quarantineRejected(database, scope, load.rejected, { runId, nowIso: at });
  // A window without a key excludes the rows before it; duplicate keys are resolved with it.
  if (load.releases) await releaseAccepted(database, scope, load.key === undefined ? INCOMING : undefined);
  await writeContract(database, stream.name, toLearned(load), runId);
  // Checkpoints show whether every slice was read in full; the counts are added later.
  await writeCheckpoint(database, next);
  const deletion = { history: stream.history, runId, syncedAt: at };
  const left = await settleRemovedSlices(context, stream, { scan, load }, deletion);
  const rowsInTable = await countLiveRows(database, stream.table, slice);
  const kept = rowsInTable - (merged.inserted + merged.updated + merged.unchanged);
  return { merged, left, rowsInTable, kept };
}

function toLearned({ columns, absentSince, jsonTypes }: PreparedLoad): readonly LearnedColumn[] {
  return columns.map(({ path, name, type }) => ({
    path,
    name,
    type,
    absentSince: absentSince.get(name),
    jsonTypes: jsonTypes?.get(name),
  }));
}
