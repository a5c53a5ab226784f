import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { makeFolders } from '../../files/make-folders.ts';
import { readCheckpoint, readContract, writeContract } from '../../../state/checkpoints.ts';
import type { ViolationCounts } from '../../contract/violation-counts.ts';
import { parseExact } from '../../json/exact-number.ts';
import { StreamConfigError } from '../../model/errors.ts';
import type { RetriedStream } from '../../model/quarantine-report.ts';
import type { RowCounts, SchemaChange } from '../../model/run-report.ts';
import type { ContractMode } from '../../model/schema.ts';
import { type Checkpoint, type LearnedColumn, nameOf, sliceIdOf, type Stream } from '../../model/stream.ts';
import {
  createFieldTree,
  type FieldTree,
  isRecordObject,
  observeRecord,
} from '../../schema/observe-fields.ts';
import type { ColumnPlan } from '../../schema/resolve-columns.ts';
import type { Database } from '../../warehouse/database.ts';
import { evolveTable, tableExists } from '../../warehouse/evolve-table.ts';
import { mergeRows } from '../../warehouse/merge-rows.ts';
import { dropOutdated, dropWithoutKey } from '../../warehouse/outdated-rows.ts';
import { projectStage } from '../../warehouse/project-stage.ts';
import {
  listRetried,
  readQuarantineFilter,
  readRetried,
  releaseAccepted,
  RETRIED,
} from '../../warehouse/quarantine.ts';
import { formatStagedLines } from '../../stage/staged-records.ts';
import { commentTable } from '../../load/comment-table.ts';
import { checkContract } from '../../load/check-contract.ts';
import type { ColumnChanges } from '../../run/scan.ts';
import { applyColumnChanges, planColumns } from '../../load/plan-columns.ts';
import { groupByField, withCompanions } from '../../load/key-columns.ts';
import { listSeenTypes } from '../../load/seen-types.ts';
import { findConfiguredKey } from '../../load/settle-key.ts';
import { bringForward } from '../../load/confirm-count.ts';
import type { Loading } from '../../run/run-context.ts';
import { refuseChangedKeyFormat, refuseUnmasked } from './refuse-retry.ts';

/** The result of retrying a slice's quarantined records. */
export interface RetriedSlice {
  readonly report: RetriedStream;
  readonly rows: RowCounts;
}

/**
 * Checks the quarantined records of a stream or slice against the current contract and merges the accepted ones by
 * key; other rows are not touched. Uses one transaction, in which `save` writes the record of the run.
 */
export async function retrySlice(
  context: Loading,
  stream: Stream,
  save: (slice: RetriedSlice) => Promise<void>,
): Promise<RetriedSlice> {
  const { settings } = context;
  const folder = join(settings.stateDir, 'stage', 'quarantine.retry');
  await rm(folder, { recursive: true, force: true });
  makeFolders(folder, 0o700);
  try {
    return await retryIn(folder, context, withoutFreeze(stream), save);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

// A record that a frozen contract does not allow stays where it is; there is no scan to fail.
function withoutFreeze(stream: Stream): Stream {
  const soften = (mode: ContractMode) => (mode === 'freeze' ? 'discard_row' : mode);
  const { columns, types } = stream.contract;
  return { ...stream, contract: { ...stream.contract, columns: soften(columns), types: soften(types) } };
}

async function retryIn(
  folder: string,
  context: Loading,
  stream: Stream,
  save: (slice: RetriedSlice) => Promise<void>,
): Promise<RetriedSlice> {
  const { database, settings, signal } = context;
  const scope = { stream: stream.name, slice: sliceIdOf(stream) };
  const tried = await listRetried(database, scope);
  const staged = await stageRetried(database, join(folder, 'records.ndjson'));
  const checkpoint = await readCheckpoint(database, stream.name, scope.slice);
  const tableExisted = await tableExists(database, stream.table);
  const learned = tableExisted ? await readContract(database, stream.name) : [];
  const question = { stream, hashKey: settings.hashKey, checkpoint, learned };
  const held = await checkContract(question, staged, signal);
  const { columns, changes } = await planColumns(
    database,
    { stream, learned, hashKey: settings.hashKey },
    held,
  );
  refuseUnmasked(stream, changes);
  const { rejected, releases } = await projectStage(database, staged.recordsFile, columns, {
    hold: held.hold,
    quarantined: await readQuarantineFilter(database, scope),
    signal,
  });
  const key = releases ? chooseKey(stream, checkpoint, columns) : undefined;
  refuseChangedKeyFormat(stream, key, changes);
  const unkeyed = key === undefined ? 0 : await dropWithoutKey(database, groupByField(key, columns));
  const facts: Facts = {
    tried,
    outdated: 0,
    left: rejected.count + unkeyed,
    leftBecause: [
      ...listReasons(held.findings.rejected, rejected.count),
      ...(unkeyed > 0
        ? [{ path: (key ?? []).join(', '), reason: 'is null, and the key', records: unkeyed }]
        : []),
    ],
  };
  if (facts.left === tried) return describe(stream, facts, NO_ROWS, []);
  return database.transaction(async () => {
    const { rows, outdated, schemaChanges } = await merge(context, stream, {
      columns,
      changes,
      key,
      tableExisted,
      learned,
      jsonTypes: listSeenTypes(columns, held.tree, learned, false),
    });
    await releaseAccepted(database, scope);
    const retried = describe(stream, { ...facts, outdated }, rows, schemaChanges);
    await save(retried);
    return retried;
  });
}

type Facts = Pick<RetriedStream, 'tried' | 'outdated' | 'left' | 'leftBecause'>;
type Loaded = Pick<RowCounts, 'inserted' | 'updated' | 'unchanged'>;

const NO_ROWS: Loaded = { inserted: 0, updated: 0, unchanged: 0 };

/** Puts the texts of `retried` where a scan's records would be, in their order. */
async function stageRetried(
  database: Database,
  recordsFile: string,
): Promise<{ readonly recordsFile: string; readonly tree: FieldTree }> {
  const tree = createFieldTree();
  async function* listLines() {
    let position = 0;
    for await (const texts of readRetried(database)) {
      const records = texts.map((text) => ({ text, value: parseExact(text), exact: true }));
      for (const { value } of records) if (isRecordObject(value)) observeRecord(tree, value);
      yield formatStagedLines(position, records);
      position += records.length;
    }
  }
  await pipeline(Readable.from(listLines()), createWriteStream(recordsFile, { mode: 0o600 }));
  return { recordsFile, tree };
}

function chooseKey(
  stream: Stream,
  checkpoint: Checkpoint | undefined,
  columns: readonly ColumnPlan[],
): readonly string[] | undefined {
  if (stream.key.kind !== 'fields') {
    const stored = new Set(columns.filter(({ type }) => type !== 'NULL').map(({ name }) => name));
    const { keyFields } = checkpoint ?? {};
    const isStored = keyFields?.every((name) => stored.has(name)) === true;
    return isStored ? withCompanions(keyFields, columns) : undefined;
  }
  const key = findConfiguredKey(stream.key.fields, columns);
  if (key !== undefined) return key.columns;
  throw new StreamConfigError(
    `${nameOf(stream)}: no column is known yet for its key (${stream.key.fields.join(', ')})`,
    {
      code: 'config_invalid',
      hint: `Nothing was changed. Correct streams.${stream.name}.key, or run \`sluice sync --streams ${stream.name}\` first.`,
      context: { stream: stream.name },
    },
  );
}

/** Whether rows stay in the table once the source no longer has them: then so may records. */
function keepsAbsent({ write, deletes }: Stream, key: readonly string[] | undefined): boolean {
  return write === 'append' || (write === 'merge' && deletes === 'keep' && key !== undefined);
}

interface Prepared {
  readonly columns: readonly ColumnPlan[];
  readonly changes: ColumnChanges;
  readonly key: readonly string[] | undefined;
  readonly tableExisted: boolean;
  readonly learned: readonly LearnedColumn[];
  readonly jsonTypes: ReturnType<typeof listSeenTypes>;
}

async function merge(
  context: Loading,
  stream: Stream,
  { columns, changes, key, tableExisted, learned, jsonTypes }: Prepared,
): Promise<{
  readonly rows: Loaded;
  readonly outdated: number;
  readonly schemaChanges: readonly SchemaChange[];
}> {
  const { database, runId, recordClock } = context;
  const settled = await applyColumnChanges(database, stream, columns, changes);
  const evolved = await evolveTable(database, { name: stream.table, exists: tableExisted }, settled.columns, {
    sliced: stream.slice !== undefined,
    softDeletes: stream.deletes === 'soft',
    history: stream.history,
  });
  // Not earlier: a wider type of the key's columns must be the table's as well.
  const outdated = await dropOutdated(database, {
    table: stream.table,
    slice: sliceIdOf(stream),
    key,
    keepsAbsent: keepsAbsent(stream, key),
  });
  const { inserted, updated, unchanged } = await mergeRows(database, {
    table: stream.table,
    columns: columns.filter(({ type }) => type !== 'NULL').map(({ name }) => name),
    key,
    absent: 'keep',
    insertOnly: stream.write === 'append' || key === undefined,
    slice: sliceIdOf(stream),
    history: stream.history,
    runId,
    syncedAt: new Date(recordClock.now()).toISOString(),
  });
  // They are rows that the API no longer counts, and this cannot be seen later.
  if (inserted > 0 && (await database.count(`SELECT count(*) FROM ${RETRIED} WHERE absent`)) > 0)
    await bringForward(database, stream.name, 'quarantined records were loaded that the API no longer had');
  const since = new Map(learned.map(({ name, absentSince }) => [name, absentSince]));
  const contract = columns.map(({ path, name, type }) => ({
    path,
    name,
    type,
    absentSince: since.get(name),
    jsonTypes: jsonTypes.get(name),
  }));
  await writeContract(database, stream.name, contract, runId);
  await commentTable(context, stream);
  return {
    rows: { inserted, updated, unchanged },
    outdated,
    schemaChanges: [...settled.changes, ...evolved],
  };
}

const NO_OBJECT = { path: '', reason: 'the record is not a JSON object' };

function listReasons(counts: ViolationCounts, rejected: number): RetriedStream['leftBecause'] {
  // Nothing was counted if every object is accepted: what was rejected is not an object.
  if (counts.records === 0) return rejected === 0 ? [] : [{ ...NO_OBJECT, records: rejected }];
  return counts.list().map(({ field, reason, count }) => ({ path: field, reason, records: count }));
}

function describe(
  stream: Stream,
  facts: Facts,
  loaded: Loaded,
  schemaChanges: readonly SchemaChange[],
): RetriedSlice {
  const { tried, left } = facts;
  const report = {
    stream: stream.name,
    slice: sliceIdOf(stream),
    ...facts,
    ...loaded,
    schemaChanges,
    error: undefined,
  };
  return { report, rows: { read: tried, ...loaded, deleted: 0, quarantined: left } };
}
