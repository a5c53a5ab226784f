import { countBefore } from '../warehouse/oldest-rows.ts';
import { describeDifference } from '../model/describe-difference.ts';
import { ResponseError } from '../model/errors.ts';
import type { StreamReport } from '../model/run-report.ts';
import { type LearnedColumn, nameOf, sliceIdOf, type Stream } from '../model/stream.ts';
import { writeCheckpoint, writeContract } from '../../state/checkpoints.ts';
import { writeStreamRun } from '../../state/runs.ts';
import { evolveTable, tableName } from '../warehouse/evolve-table.ts';
import { countLiveRows, isInWindow, readScope } from '../warehouse/live-rows.ts';
import { mergeRows } from '../warehouse/merge-rows.ts';
import { INCOMING } from '../warehouse/project-stage.ts';
import { quarantineRejected, releaseAccepted } from '../warehouse/quarantine.ts';
import { countOwnRecords } from '../warehouse/record-versions.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';
import { decideAbsent, describeKept, describeMarkedGone, refuseLoss } from './absent-rows.ts';
import { windowOf } from './asked-days.ts';
import { isBeyondGuard } from './compare-counts.ts';
import { bringForward, prepareJudge, settleDifference, warnOfDifference } from './confirm-count.ts';
import { describeGone, findGone } from './gone-rows.ts';
import type { AbsenceDecision } from './judge-absence.ts';
import { isKeyInDoubt } from './key-doubt.ts';
import { findMovedRows } from './key-without-date.ts';
import { describeRehashed } from './rehashed-key.ts';
import { findAdoption, settleRemovedSlices } from './removed-slices.ts';
import { nextCheckpoint } from './next-checkpoint.ts';
import { countSinceDays, type DatedTable, findDatedTable } from './oldest-left.ts';
import { applyColumnChanges, rememberMasks } from './plan-columns.ts';
import type { RunContext } from '../run/run-context.ts';
import type { LoadedScan, PlannedScan } from '../run/turn.ts';
import type { CommittedScan, FetchedScan, PreparedLoad } from '../run/scan.ts';
import { type CommitStep, type NotCommitted, readInFull } from '../run/step.ts';
import {
  countTable,
  type MergedTable,
  describeLeftApi,
  describeNewColumns,
  settleDropped,
  findDueReason,
} from './settle-counts.ts';
import { describeVersions, markUnseen } from './unseen-records.ts';

/** How a commit is recorded. */
export interface CommitRecord {
  readonly describe: (committed: CommittedScan) => StreamReport;
  /** Writes the run's own row, with the stream's report in it. */
  readonly saveRun: (report: StreamReport) => Promise<void>;
}

/**
 * Writes a scan's rows, its checkpoint and its record in one transaction: a crash keeps all or nothing
 * (invariant 1). Nothing is written where something else has to take its place.
 */
export async function commitScan(
  context: RunContext,
  turn: PlannedScan,
  { scan, load }: LoadedScan,
  { describe, saveRun }: CommitRecord,
): Promise<CommitStep<StreamReport>> {
  const { stream, checkpoint } = turn;
  const { database, runId, options } = context;
  await refuseEmptiedSource(context, stream, scan, load);
  const nowIso = new Date(context.recordClock.now()).toISOString();
  const slice = sliceIdOf(stream);
  const keyInDoubt = await isKeyInDoubt(context, turn, { scan, load });
  const next = nextCheckpoint({ stream, scan, load, checkpoint, runId, options });
  const absentFacts = { stream, scan, load, next, options, keyInDoubt };
  const decision = decideAbsent(absentFacts);
  const moved = await findMovedRows(context, stream, scan, load);
  if (typeof moved === 'object') return { instead: moved };
  let warnings: readonly string[] = [];
  let judged: AbsenceDecision = { kind: 'apply' };
  const windowDate = options.from === undefined ? windowOf(scan, load)?.date : undefined;
  const before = settleDropped(checkpoint?.counts, stream, windowDate);
  const isWindow = decision.absent !== 'keep' && decision.absent.window !== undefined;

  // Frees memory left over from reading and packing records, which the merge needs.
  await database.trim();
  const commit = async (): Promise<CommitStep<StreamReport>> => {
    // An ALTER after other changes of its table makes the commit fail.
    const settled = await applyColumnChanges(database, stream, load.columns, load.columnChanges);
    const evolved = await evolveTable(
      database,
      { name: stream.table, exists: load.tableExisted },
      settled.columns,
      {
        sliced: stream.slice !== undefined,
        softDeletes: stream.deletes === 'soft',
        history: stream.history,
      },
    );
    const columns = storedColumns(load.columns).map(({ name }) => name);
    const scope = { stream: stream.name, slice };
    await markUnseen(context, stream, { scan, load }, next);
    const judgeChange = isWindow
      ? await prepareJudge(context, { stream, scan, load, decision, before })
      : () => ({ kind: 'apply' }) as const;
    const { markedGone, ...merged } = await mergeRows(database, {
      table: stream.table,
      columns,
      key: load.key?.columns,
      absent: decision.absent,
      insertOnly: stream.write === 'append',
      slice,
      adoptBy: await findAdoption(context, stream, columns),
      history: stream.history,
      runId,
      syncedAt: nowIso,
      judge: (change) => {
        judged = judgeChange(change);
        if (judged.kind === 'apply') refuseLoss(absentFacts, decision, change);
        return judged.kind === 'apply' || judged.kind === 'keep' ? judged.kind : 'cancel';
      },
    });
    const cancelled = toCommitStep(judged);
    if (cancelled !== undefined) return cancelled;
    await rememberMasks(database, stream, load.columnChanges);
    await quarantineRejected(database, scope, load.rejected, { runId, nowIso });
    // A window without a key excludes the rows before it; duplicate keys are resolved with it.
    if (load.releases) await releaseAccepted(database, scope, load.key === undefined ? INCOMING : undefined);
    await writeContract(database, stream.name, toLearned(load), runId);
    const deletion = { history: stream.history, runId, syncedAt: nowIso };
    // Checkpoints show whether every slice was read in full; the counts are added below.
    await writeCheckpoint(database, next);
    const left = await settleRemovedSlices(context, stream, { scan, load }, deletion);
    // Set, not added: a transaction that ran out of memory is repeated.
    const beside = decision.absent === 'keep' ? describeRehashed(stream, load, merged.inserted) : [];
    warnings = [...left.warnings, ...beside];
    const rowsInTable = await countLiveRows(database, stream.table, slice);
    const rowsCame = merged.inserted + merged.updated + merged.unchanged;
    const kept = rowsInTable - rowsCame;
    const schemaChanges = [...settled.changes, ...evolved];
    const { gone, suspectedOn } = await findGone(context, stream, { scan, load }, { next, kept });
    const dated = await findDatedTable(context, stream, scan, load);
    const counts = countTable({
      scan,
      at: nowIso,
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
    const difference = isCounted && counts !== undefined && counts.difference !== 0 ? counts : undefined;
    const unsettled =
      difference && (await settleDifference({ stream, scan, counts: difference, checkpoint, dated }));
    if (unsettled !== undefined) return unsettled;
    const newColumns = describeNewColumns(scan, schemaChanges, kept);
    const due = findDueReason(scan, checkpoint?.fullRefreshDue, [
      difference && !isBeyondGuard(stream, difference) ? describeDifference(difference) : undefined,
      newColumns,
      moved,
    ]);
    const reached = { ...next, fullRefreshDue: due, counts };
    await writeCheckpoint(database, reached);
    if (newColumns !== undefined && stream.slice !== undefined)
      await bringForward(database, stream.name, newColumns);
    if (difference !== undefined) warnings = [...warnings, warnOfDifference(difference, stream)];
    const described = describe({
      rows: {
        read: scan.rows,
        ...merged,
        deleted: merged.deleted + left.deleted,
        quarantined: load.rejected.count,
      },
      rowsInTable,
      rowsInApi: scan.plan.mode === 'full' ? scan.total : (scan.counted?.rows ?? undefined),
      difference: isCounted ? counts?.difference : undefined,
      schemaChanges,
      notes: [
        ...describeEmpty(stream, scan),
        ...describeKept(scan, decision, kept, load.rejected.count),
        ...describeGone(absentFacts, decision, suspectedOn),
        ...(judged.kind === 'keep' ? [`nothing was deleted: ${judged.because}`] : []),
        ...(isCounted ? describeLeftApi(checkpoint?.counts, counts) : []),
        ...[newColumns, moved].filter((note) => note !== undefined),
        ...describeMarkedGone(markedGone + left.markedGone),
        ...left.notes,
      ],
      checkpoint: reached,
    });
    await writeStreamRun(database, runId, described);
    await saveRun(described);
    return { done: described };
  };
  const step = await database.transaction(commit, (result) => 'done' in result);
  if (!('done' in step)) return step;
  for (const message of warnings) context.emit({ type: 'warning', stream: stream.name, message });
  // The engine may fail to replay a log with DDL: leave none behind. The commit is valid even if this fails;
  // publishing writes the log again and reports errors.
  await database.checkpoint().catch(() => undefined);
  return step;
}

/** What takes the place of a commit whose deletions were not confirmed. */
function toCommitStep(judged: AbsenceDecision): NotCommitted | undefined {
  if (judged.kind === 'recount') return { recount: [] };
  if (judged.kind !== 'read-in-full') return undefined;
  return { instead: readInFull(judged.because, { isBroughtForward: true }) };
}

/** A mistyped value of a slice is answered like one that has no records. */
function describeEmpty(stream: Stream, { plan, rows }: FetchedScan): readonly string[] {
  if (plan.mode !== 'full' || rows > 0) return [];
  return [`the API has no records${stream.slice === undefined ? '' : ` of the slice ${sliceIdOf(stream)}`}`];
}

/** An empty response for data that the table has is far more often an accident than the truth. */
async function refuseEmptiedSource(
  { database, options }: RunContext,
  stream: Stream,
  scan: FetchedScan,
  load: PreparedLoad,
): Promise<void> {
  if (scan.rows > 0 || !load.tableExisted || options.allowEmpty === true) return;
  const { own, live } = await readScope(database, stream.table, sliceIdOf(stream));
  const window = windowOf(scan, load);
  const asked = window === undefined ? 'true' : isInWindow('t', window);
  const held = await database.count(
    `SELECT count(*) FROM ${tableName(stream.table)} t WHERE ${own} AND ${live} AND ${asked}`,
  );
  if (held === 0) return;
  const of = stream.slice === undefined ? '' : ' of this slice';
  throw new ResponseError(`${nameOf(stream)}: the API returned no records, the table holds ${held}${of}`, {
    code: 'source_emptied',
    hint: 'The table is unchanged. If the source really is empty, run again with --allow-empty.',
    context: { stream: stream.name },
  });
}

function storedColumns(columns: readonly ColumnPlan[]): readonly ColumnPlan[] {
  return columns.filter(({ type }) => type !== 'NULL');
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

/** The oldest day that a full scan brought, and the table's rows before it. */
async function findOldest(
  dated: DatedTable | undefined,
  { plan }: FetchedScan,
  { oldestCursor }: PreparedLoad,
): Promise<MergedTable['oldest']> {
  if (dated === undefined || plan.mode !== 'full' || oldestCursor === undefined) return undefined;
  return { date: oldestCursor, before: await countBefore(dated, oldestCursor) };
}
