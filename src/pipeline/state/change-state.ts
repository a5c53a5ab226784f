import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readCheckpoints, writeCheckpoint } from '../../../state/checkpoints.ts';
import { lockStateFolder } from '../../../state/lock.ts';
import { deleteCheckpoint, deleteContract, deleteQuarantine } from '../../../state/set-aside.ts';
import { canonicalText } from '../../json/fingerprint.ts';
import { type Clock, systemClock } from '../../model/clock.ts';
import { ConfigError } from '../../model/errors.ts';
import type { OnProgress } from '../../model/progress.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import type { ConfirmChange, StateChange, StateChangeReport } from '../../model/state-report.ts';
import { type Checkpoint, nameScan } from '../../model/stream.ts';
import { dropTable } from '../../warehouse/carry-rows.ts';
import { historyOf, readColumns, tableExists, tableName } from '../../warehouse/evolve-table.ts';
import { assertTargetIsOurs, openWarehouse } from '../open-warehouse.ts';
import { parseState } from './parse-state.ts';
import { askForRewrite, markGeneration, publishRun } from '../publish.ts';
import { chooseRunId } from '../record-run.ts';
import { refusingClient, withoutKey } from '../refuse-requests.ts';
import type { RunContext } from '../run-context.ts';
import { chooseKnown } from './select-known.ts';
import { countRepeated } from '../verify/verify-tables.ts';

export interface ChangeStateOptions {
  readonly confirm: ConfirmChange;
  readonly onProgress?: OnProgress | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
}

export interface ResetOptions extends ChangeStateOptions {
  readonly streams?: readonly string[];
  /** Their tables, versions and quarantined records go as well. */
  readonly dropTables?: boolean;
}

/**
 * Puts exported checkpoints in the place of those of now. A checkpoint whose table is not there, or lacks the
 * columns it names, is refused: the next sync would skip rows that nobody has.
 */
export async function importState(
  settings: OfflineSettings,
  text: string,
  options: ChangeStateOptions,
): Promise<StateChangeReport> {
  const state = parseState(settings, text);
  return changeState(settings, options, 'state import', async (context, held) => {
    chooseKnown(
      settings,
      held,
      state.checkpoints.map(({ stream }) => stream),
    );
    const find = ({ stream, slice }: Checkpoint) =>
      held.find((one) => one.stream === stream && one.slice === slice);
    // One that is as it is stays so, and the archive goes on from it.
    const others = state.checkpoints.filter((checkpoint) => !isSame(checkpoint, find(checkpoint)));
    for (const checkpoint of others) await assertFits(context, checkpoint);
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
    const ahead = changes.filter(
      ({ watermarkBefore = '9999', watermarkAfter = '' }) => watermarkAfter > watermarkBefore,
    );
    const warnings = ahead.map(
      ({ stream, slice }) =>
        `the watermark of ${nameScan(stream, slice)} moves forward: rows between both dates are left out until the next full scan`,
    );
    const apply = async () => {
      for (const checkpoint of others)
        await writeCheckpoint(context.database, toUnproven(checkpoint, context.runId));
    };
    return { changes, warnings, apply };
  });
}

/** Forgets what scans reached: the next ones read everything. Tables stay, unless they are to go as well. */
export async function resetState(
  settings: OfflineSettings,
  options: ResetOptions,
): Promise<StateChangeReport> {
  return changeState(settings, options, 'state reset', async (context, held) => {
    const { database } = context;
    const names = chooseKnown(settings, held, options.streams);
    const dropped = options.dropTables === true ? await listTables(context, names) : [];
    const rows = new Map<string, number>();
    for (const name of dropped)
      rows.set(name, await database.count(`SELECT count(*) FROM ${tableName(name)}`));
    const forgotten = held.filter(({ stream }) => names.includes(stream));
    const changes = [
      ...forgotten.map(({ stream, slice, watermark }) => forget(stream, slice, watermark, rows.get(stream))),
      ...dropped
        .filter((name) => !forgotten.some(({ stream }) => stream === name))
        .map((name) => forget(name, '', undefined, rows.get(name))),
    ];
    const apply = async () => {
      for (const { stream, slice } of forgotten) await deleteCheckpoint(database, stream, slice);
      for (const name of dropped) await dropStream(context, name);
      if (dropped.length > 0) await askForRewrite(database);
    };
    return { changes, apply, after: () => dropStages(settings, names) };
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

/** What a command is going to do once somebody agreed. */
interface PlannedChange {
  readonly changes: readonly StateChange[];
  readonly warnings?: readonly string[];
  /** Runs in the transaction of the change. */
  readonly apply: () => Promise<void>;
  readonly after?: () => Promise<void>;
}

async function changeState(
  settings: OfflineSettings,
  { confirm, onProgress, signal, clock = systemClock }: ChangeStateOptions,
  command: string,
  plan: (context: RunContext, held: readonly Checkpoint[]) => Promise<PlannedChange>,
): Promise<StateChangeReport> {
  const startedAtMs = clock.now();
  const lock = await lockStateFolder(settings.stateDir, new Date(startedAtMs).toISOString(), command);
  try {
    const full = withoutKey(settings);
    await assertTargetIsOurs(full);
    const warnings: string[] = [];
    const onWarning = (message: string) => void warnings.push(message);
    const database = await openWarehouse(full, { clock, signal, onWarning });
    try {
      const runId = await chooseRunId(database, settings.stateDir, undefined, startedAtMs);
      const context: RunContext = {
        runId: `${command.replace(' ', '-')}-${runId}`,
        settings: full,
        options: {},
        clock,
        client: refusingClient,
        database,
        signal,
        emit: (event) => onProgress?.(event),
        concurrency: 1,
      };
      const planned = await plan(context, await readCheckpoints(database));
      const { changes } = planned;
      warnings.push(...(planned.warnings ?? []));
      const nothing = { changes, warnings, published: undefined };
      if (changes.length === 0) return { ...nothing, cancelled: false };
      if (!(await confirm(changes, warnings))) return { ...nothing, cancelled: true };
      await database.transaction(async () => {
        await planned.apply();
        await markGeneration(database, context.runId);
      });
      await planned.after?.();
      const { published, failure } = await publishRun(context);
      if (failure !== undefined) throw failure;
      return { changes, cancelled: false, warnings, published };
    } finally {
      await database.release();
    }
  } finally {
    lock.release();
  }
}

function isSame(one: Checkpoint, other: Checkpoint | undefined): boolean {
  return canonicalText({ ...one, runId: '' }) === canonicalText({ ...other, runId: '' });
}

/**
 * A checkpoint as the next sync may go on from it: what the table here holds, no scan has verified; and none
 * that is archived led to it.
 */
function toUnproven(checkpoint: Checkpoint, runId: string): Checkpoint {
  return { ...checkpoint, lastVerifiedAt: undefined, head: undefined, runId };
}

async function assertFits({ database }: RunContext, checkpoint: Checkpoint): Promise<void> {
  const { stream, slice, keyFields = [], cursorField } = checkpoint;
  const name = nameScan(stream, slice);
  const refuse = (why: string) =>
    new ConfigError(`the checkpoint of ${name} cannot be imported: ${why}`, {
      code: 'usage_invalid',
      hint: 'Nothing was imported. By it the next sync would leave rows out; take it out of the file, and the stream is read in full.',
      context: { stream },
    });
  if (!(await tableExists(database, stream))) throw refuse('there is no table of that name here');
  const columns = await readColumns(database, stream);
  const missing = [...keyFields, ...(cursorField === undefined ? [] : [cursorField])].filter(
    (column) => !columns.has(column),
  );
  if (missing.length > 0) throw refuse(`the table here has no column ${missing.join(', ')}`);
  if ((await countRepeated(database, stream, checkpoint)) > 0)
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
}

// A scan that stopped would otherwise go on with what is to be forgotten.
async function dropStages({ stateDir }: OfflineSettings, names: readonly string[]): Promise<void> {
  const folder = join(stateDir, 'stage');
  for (const entry of await readdir(folder).catch(() => [])) {
    const stream = entry.split('.')[0] ?? '';
    if (names.includes(stream)) await rm(join(folder, entry), { recursive: true, force: true });
  }
}
