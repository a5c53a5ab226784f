import { DAY_MS, toDate } from '../model/dates.ts';
import { ResponseError } from '../model/errors.ts';
import type { RowCounts, StreamReport } from '../model/run-report.ts';
import type { Checkpoint, LearnedColumn, Stream } from '../model/stream.ts';
import { writeCheckpoint, writeContract } from '../../state/checkpoints.ts';
import { writeStreamRun } from '../../state/runs.ts';
import { countDuplicates } from '../warehouse/find-key.ts';
import { evolveTable, tableName } from '../warehouse/evolve-table.ts';
import { mergeRows, type MergeRequest } from '../warehouse/merge-rows.ts';
import { INCOMING } from '../warehouse/project-stage.ts';
import { quoteIdentifier, quoteLiteral } from '../warehouse/identifiers.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';
import { nextCheckpoint } from './next-checkpoint.ts';
import type { RunContext } from './run-context.ts';
import { type CommittedScan, type FetchedScan, isTimestamp, type PreparedLoad } from './scan.ts';

/**
 * Writes a scan's rows, its checkpoint and its record in one transaction: a crash keeps all or nothing
 * (invariant 1). `saveRun` writes the run's own row, with the stream's report in it.
 */
export async function commitScan(
  context: RunContext,
  stream: Stream,
  scan: FetchedScan,
  load: PreparedLoad,
  checkpoint: Checkpoint | undefined,
  describe: (committed: CommittedScan) => StreamReport,
  saveRun: (report: StreamReport) => Promise<void>,
): Promise<StreamReport> {
  const { database, runId } = context;
  await refuseEmptiedSource(context, stream, scan, load);
  const nowIso = new Date(context.clock.now()).toISOString();
  const keyChanged = await hasKeyChanged(context, stream, load, checkpoint);
  const absent = absentRows(context, stream, scan, load, keyChanged || isKeyReplaced(scan, load, checkpoint));

  const report = await database.transaction(async () => {
    // An ALTER after other changes of its table makes the commit fail.
    const schemaChanges = await evolveTable(database, stream.table, load.columns, load.tableExisted);
    if (typeof absent === 'object') await dropIncomingBefore(context, absent.removeFrom);
    const merged = await mergeRows(database, {
      table: stream.table,
      columns: storedColumns(load.columns).map(({ name }) => name),
      // What an old key let into the table may hold the new one twice: rows are then matched as a whole.
      key: keyChanged && absent === 'remove-all' ? undefined : load.key?.columns,
      absent,
      insertOnly: stream.write === 'append',
      runId,
      syncedAt: nowIso,
    });
    await quarantineRecords(context, stream, load, nowIso);
    const rows: RowCounts = { read: scan.rows, ...merged, quarantined: load.rejected.length };
    const next = nextCheckpoint({ stream, scan, load, checkpoint, runId, options: context.options });
    await writeCheckpoint(database, next);
    await writeContract(database, stream.name, load.columns.map(toLearned), runId);
    const rowsInTable = await database.count(`SELECT count(*) FROM ${tableName(stream.table)}`);
    const described = describe({ rows, rowsInTable, schemaChanges, checkpoint: next });
    await writeStreamRun(database, runId, described);
    await saveRun(described);
    return described;
  });
  // A log that holds DDL is the one replay has trouble with: leave none behind.
  // The commit stands whatever becomes of this; publishing writes the log again, and tells.
  await database.checkpoint().catch(() => undefined);
  return report;
}

/** No record where the table has some, in what was asked for, is an accident far more often than the truth. */
async function refuseEmptiedSource(
  context: RunContext,
  stream: Stream,
  scan: FetchedScan,
  load: PreparedLoad,
): Promise<void> {
  if (scan.rows > 0 || !load.tableExisted || context.options.allowEmpty === true) return;
  const { cursorColumn } = load;
  const { from } = scan.plan;
  const asked =
    cursorColumn === undefined || from === undefined
      ? 'true'
      : `${dateOf(cursorColumn)} >= ${quoteLiteral(firstWholeDay(load, from))}::DATE`;
  const held = await context.database.count(`SELECT count(*) FROM ${tableName(stream.table)} WHERE ${asked}`);
  if (held === 0) return;
  throw new ResponseError(`${stream.name}: the API returned no records, the table holds ${held}`, {
    code: 'source_emptied',
    hint: 'The table is as it was. If the source really is empty, run again with --allow-empty.',
    context: { stream: stream.name },
  });
}

async function hasKeyChanged(
  context: RunContext,
  stream: Stream,
  load: PreparedLoad,
  checkpoint: Checkpoint | undefined,
): Promise<boolean> {
  if (!load.tableExisted || load.key === undefined || checkpoint === undefined) return false;
  if (checkpoint.keyFields?.join() === load.key.columns.join()) return false;
  // Old rows can stay beside the new ones if the new key tells them apart as well.
  const known = load.key.columns.every((name) =>
    load.columns.some(
      (column) => column.name === name && column.existingType !== undefined && column.existingType !== 'NULL',
    ),
  );
  return !known || (await countDuplicates(context.database, tableName(stream.table), load.key.columns)) > 0;
}

/** By another learned key than before, rows it does not find again may be older versions of others. */
function isKeyReplaced(scan: FetchedScan, load: PreparedLoad, checkpoint: Checkpoint | undefined): boolean {
  if (load.key?.origin !== 'learned' || checkpoint === undefined || scan.rows === 0) return false;
  return checkpoint.keyFields?.join() !== load.key.columns.join();
}

function absentRows(
  { options }: RunContext,
  stream: Stream,
  scan: FetchedScan,
  load: PreparedLoad,
  isDoubtful: boolean,
): MergeRequest['absent'] {
  // Only a table that never held more is given a part without a key.
  if (scan.verdict === 'partial' && load.key === undefined) return 'remove-all';
  const trusted = scan.verdict === 'verified' || scan.verdict === 'unverified';
  if (!trusted || stream.write === 'append') return 'keep';
  if (scan.plan.mode === 'full') {
    return stream.write === 'replace' || load.key === undefined || isDoubtful ? 'remove-all' : 'keep';
  }
  if (load.key !== undefined || load.cursorColumn === undefined || scan.plan.from === undefined)
    return 'keep';
  // There is nothing to replace yet, and no older version to confuse a row with.
  if (!load.tableExisted && options.from !== undefined) return 'keep';
  return { removeFrom: { column: load.cursorColumn, date: firstWholeDay(load, scan.plan.from) } };
}

/** The first day of which surely all rows came: which day a timestamp belongs to, the API's time zone decides. */
function firstWholeDay(load: PreparedLoad, from: string): string {
  return isTimestamp(load, load.cursorColumn) ? toDate(Date.parse(`${from}T00:00:00Z`) + DAY_MS) : from;
}

// A configured cursor may be text that only mostly holds dates.
function dateOf(column: string): string {
  return `TRY_CAST(left(CAST(${quoteIdentifier(column)} AS VARCHAR), 10) AS DATE)`;
}

// Without a key only whole days can be replaced: a row before them could not be told from its own older version.
async function dropIncomingBefore(
  { database }: RunContext,
  window: { readonly column: string; readonly date: string },
): Promise<void> {
  await database.run(`DELETE FROM ${INCOMING} WHERE ${dateOf(window.column)} < $1::DATE`, [window.date]);
}

/** Puts the scan's rejected records into quarantine, each as often as it came: a record seen before is there once. */
async function quarantineRecords(
  { database, runId }: RunContext,
  stream: Stream,
  load: PreparedLoad,
  nowIso: string,
): Promise<void> {
  for (const text of new Set(load.rejected.map((record) => record.text))) {
    await database.run('DELETE FROM _sluice.quarantine WHERE stream = $1 AND record = $2', [
      stream.name,
      text,
    ]);
  }
  for (const { position, text } of load.rejected) {
    await database.run(
      `INSERT INTO _sluice.quarantine VALUES ($1, $2, '', $3, 0, $4, '', $5, $6::TIMESTAMPTZ)`,
      [runId, stream.name, position, 'the record is not a JSON object', text, nowIso],
    );
  }
}

function storedColumns(columns: readonly ColumnPlan[]): readonly ColumnPlan[] {
  return columns.filter(({ type }) => type !== 'NULL');
}

function toLearned({ path, name, type }: ColumnPlan): LearnedColumn {
  return { path, name, type };
}
