import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readCheckpoints, writeCheckpoint } from '../../../state/checkpoints.ts';
import { deleteCheckpoint, deleteContract, deleteQuarantine } from '../../../state/set-aside.ts';
import { forgetUnprovedStream } from '../../../state/unproved-streams.ts';
import { canonicalText } from '../../json/fingerprint.ts';
import { ConfigError } from '../../model/errors.ts';
import { formatCountOf } from '../../text/format-count.ts';
import { noRows, type StreamReport } from '../../model/run-report.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import type { ConfirmChange, StateChange, StateChangeReport } from '../../model/state-report.ts';
import { type Checkpoint, nameScan } from '../../model/stream.ts';
import { dropTable } from '../../warehouse/carry-rows.ts';
import { historyOf, readColumns, tableExists, tableName } from '../../warehouse/evolve-table.ts';
import { type OfflineRun, runOffline } from '../offline-run.ts';
import type { SessionEffects } from '../../sync/session.ts';
import { parseState } from './parse-state.ts';
import { scheduleCompaction } from '../../../state/rewrite-mark.ts';
import type { RunContext } from '../../run/run-context.ts';
import { sealCheckpoint } from './seal-checkpoint.ts';
import { removeSourceRecord } from '../../../state/source-record.ts';
import { toUnproven, toUnread } from '../../storage/unread-checkpoint.ts';
import { goesBack, isSame } from './imported-checkpoint.ts';
import { chooseKnown } from './select-known.ts';
import { countRepeated } from '../verify/verify-tables.ts';

export interface ChangeStateOptions extends SessionEffects {
  readonly confirm: ConfirmChange;
}

export interface ResetOptions extends ChangeStateOptions {
  readonly streams?: readonly string[];
  /** Their tables, versions and quarantined records are deleted as well. */
  readonly dropTables?: boolean;
}

/**
 * Replaces the current checkpoints by exported ones. A checkpoint is rejected if its table or one of its columns is
 * missing. If the table here has different rows, it is imported without its progress: the next sync reads the stream
 * in full, as it would otherwise skip missing rows.
 */
export async function importState(
  settings: OfflineSettings,
  text: string,
  options: ChangeStateOptions,
): Promise<StateChangeReport> {
  const state = parseState(settings, text);
  return changeState(settings, options, { name: 'state import' }, async (context, held) => {
    chooseKnown(
      settings,
      held,
      state.checkpoints.map(({ stream }) => stream),
    );
    const find = ({ stream, slice }: Checkpoint) =>
      held.find((one) => one.stream === stream && one.slice === slice);
    // An unchanged checkpoint is kept, and its archive continues.
    const others: Checkpoint[] = [];
    const warnings: string[] = [];
    for (const { seal, ...checkpoint } of state.checkpoints) {
      const before = find(checkpoint);
      if (isSame(checkpoint, before)) continue;
      await assertFits(context, checkpoint, [...state.checkpoints, ...held]);
      const isTrue = seal !== undefined && seal === (await sealCheckpoint(context.database, checkpoint));
      if (isTrue || goesBack(checkpoint, before)) {
        others.push(toUnproven(checkpoint, context.runId, before));
        continue;
      }
      others.push(toUnread(checkpoint, context.runId));
      warnings.push(
        `the table of ${nameScan(checkpoint.stream, checkpoint.slice)} does not have the rows of its checkpoint: the next sync reads it in full`,
      );
    }
    const changes = others.map((checkpoint): StateChange => {
      const { stream, slice, watermark } = checkpoint;
      const before = find(checkpoint);
      return {
        stream,
        slice,
        what: 'replaced',
        watermarkBefore: before?.watermark,
        watermarkAfter: watermark,
        rowsDropped: undefined,
      };
    });
    const apply = async () => {
      for (const checkpoint of others) await writeCheckpoint(context.database, checkpoint);
    };
    return { changes, warnings, apply };
  });
}

/** Deletes checkpoints: the next scans read everything. Tables are kept unless they are dropped as well. */
export async function resetState(
  settings: OfflineSettings,
  options: ResetOptions,
): Promise<StateChangeReport> {
  const { streams, dropTables = false } = options;
  const replaces = dropTables ? (streams ?? settings.streams.map(({ name }) => name)) : [];
  return changeState(settings, options, { name: 'state reset', replaces }, async (context, held) => {
    const { database } = context;
    const names = chooseKnown(settings, held, streams);
    const dropped = dropTables ? await listTables(context, names) : [];
    const rows = new Map<string, number>();
    for (const name of dropped)
      rows.set(name, await database.count(`SELECT count(*) FROM ${tableName(name)}`));
    const forgotten = held.filter(({ stream }) => names.includes(stream));
    const changes = [
      ...forgotten.map(({ stream, slice, watermark }, at) => {
        // The slices of a stream share its table.
        const isFirst = forgotten.findIndex((one) => one.stream === stream) === at;
        return forget(stream, slice, watermark, isFirst ? rows.get(stream) : undefined);
      }),
      ...dropped
        .filter((name) => !forgotten.some(({ stream }) => stream === name))
        .map((name) => forget(name, '', undefined, rows.get(name))),
    ];
    const apply = async () => {
      for (const { stream, slice } of forgotten) await deleteCheckpoint(database, stream, slice);
      for (const name of dropped) await dropStream(context, name);
      if (dropped.length > 0) await scheduleCompaction(database);
    };
    const after = async () => {
      await dropStages(settings, names);
      // The key may be another account's, which gets its rows once they are gone here.
      if (dropTables && held.every(({ stream }) => names.includes(stream)))
        removeSourceRecord(settings.stateDir);
    };
    return { changes, apply, after };
  });
}

function forget(
  stream: string,
  slice: string,
  watermarkBefore: string | undefined,
  rowsDropped: number | undefined,
): StateChange {
  return { stream, slice, what: 'forgotten', watermarkBefore, watermarkAfter: undefined, rowsDropped };
}

/** What a command will do once it is confirmed. */
interface PlannedChange {
  readonly changes: readonly StateChange[];
  readonly warnings?: readonly string[];
  /** Runs in the transaction of the change. */
  readonly apply: () => Promise<void>;
  readonly after?: () => Promise<void>;
}

async function changeState(
  settings: OfflineSettings,
  options: ChangeStateOptions,
  command: { readonly name: string; readonly replaces?: readonly string[] },
  plan: (context: RunContext, held: readonly Checkpoint[]) => Promise<PlannedChange>,
): Promise<StateChangeReport> {
  let agreed: string | undefined;
  // Asked again only if the state had to be restored meanwhile and the change is now different.
  const confirm: ConfirmChange = async (changes, warnings) => {
    const asked = canonicalText(changes);
    if (agreed !== asked && !(await options.confirm(changes, warnings))) return false;
    agreed = asked;
    return true;
  };
  const named = { ...command, idPrefix: `${command.name.replace(' ', '-')}-` };
  return runOffline(settings, named, options, async (run) => {
    const { context, warnings } = run;
    const planned = await plan(context, await readCheckpoints(context.database));
    const { changes } = planned;
    warnings.push(...(planned.warnings ?? []));
    const nothing = { changes, warnings, published: undefined };
    if (changes.length === 0) return { ...nothing, cancelled: false };
    if (!(await confirm(changes, warnings))) return { ...nothing, cancelled: true };
    await applyChange(run, settings, planned);
    const { report, error } = await run.finish();
    if (error !== undefined) throw error;
    return { changes, cancelled: false, warnings, published: report.published };
  });
}

async function applyChange(
  run: OfflineRun,
  settings: OfflineSettings,
  planned: PlannedChange,
): Promise<void> {
  const { database, recordClock } = run.context;
  const at = new Date(recordClock.now()).toISOString();
  const reports = planned.changes.map((change) => describeChange(settings, change, at));
  await database.transaction(async () => {
    await planned.apply();
    await run.save(reports);
  });
  for (const report of reports) run.add(report);
  await planned.after?.();
}

/** The row of a changed checkpoint in the record of runs. */
function describeChange(
  { streams }: OfflineSettings,
  { stream, slice, what, watermarkAfter, rowsDropped }: StateChange,
  at: string,
): StreamReport {
  const change =
    what === 'forgotten' ? 'the checkpoint was forgotten' : 'the checkpoint was replaced by an exported one';
  return {
    stream,
    slice,
    table: streams.find(({ name }) => name === stream)?.table ?? stream,
    status: 'complete',
    mode: 'state',
    verdict: undefined,
    reasons: [
      change,
      ...(rowsDropped === undefined
        ? []
        : [`its table was dropped, with ${formatCountOf(rowsDropped, 'row')}`]),
    ],
    rowsDeclared: undefined,
    rows: noRows,
    rowsInTable: undefined,
    pages: 0,
    requests: 0,
    rescans: 0,
    startedAt: at,
    finishedAt: at,
    watermark: watermarkAfter,
    key: undefined,
    schemaChanges: [],
    error: undefined,
  };
}

async function assertFits(
  { database }: RunContext,
  checkpoint: Checkpoint,
  known: readonly Checkpoint[],
): Promise<void> {
  const { stream, slice, keyFields = [], cursorField } = checkpoint;
  const name = nameScan(stream, slice);
  const refuse = (why: string) =>
    new ConfigError(`the checkpoint of ${name} cannot be imported: ${why}`, {
      code: 'usage_invalid',
      hint: 'Nothing was imported. With it, the next sync would skip rows; remove it from the file to read the stream in full.',
      context: { stream },
    });
  if (!(await tableExists(database, stream))) throw refuse('there is no table of that name here');
  const columns = await readColumns(database, stream);
  const missing = [...keyFields, ...(cursorField === undefined ? [] : [cursorField])].filter(
    (column) => !columns.has(column),
  );
  if (missing.length > 0) throw refuse(`the table here has no column ${missing.join(', ')}`);
  const all = known.filter((one) => one.stream === stream);
  if ((await countRepeated(database, stream, checkpoint, all)) > 0)
    throw refuse(`its key (${keyFields.join(', ')}) is not unique in the table here`);
}

async function listTables({ database }: RunContext, names: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of names) if (await tableExists(database, name)) found.push(name);
  return found;
}

async function dropStream({ database }: RunContext, name: string): Promise<void> {
  await dropTable(database, name);
  await dropTable(database, historyOf(name));
  await deleteContract(database, name);
  await deleteQuarantine(database, name);
  await forgetUnprovedStream(database, name);
}

// Otherwise a stopped scan would resume from deleted state.
async function dropStages({ stateDir }: OfflineSettings, names: readonly string[]): Promise<void> {
  const folder = join(stateDir, 'stage');
  for (const entry of await readdir(folder).catch(() => [])) {
    const stream = entry.split('.')[0] ?? '';
    if (names.includes(stream)) await rm(join(folder, entry), { recursive: true, force: true });
  }
}
