import { readCheckpoint, readContract, writeCheckpoint } from '../../../state/checkpoints.ts';
import {
  deleteCheckpoint,
  deleteContract,
  deleteQuarantine,
  keepRunRecords,
  restoreRunRecords,
} from '../../../state/set-aside.ts';
import { type ArchivedScan, findCursorRule } from '../../archive/archived-scan.ts';
import { formatCountOf, verbOf } from '../../text/format-count.ts';
import type { SchemaChange } from '../../model/run-report.ts';
import { type LearnedColumn, nameCursorRule, sliceIdOf, type Stream } from '../../model/stream.ts';
import { createFieldTree } from '../../schema/observe-fields.ts';
import { dropTable, renameTable } from '../../warehouse/carry-rows.ts';
import { historyOf, tableExists } from '../../warehouse/evolve-table.ts';
import { listSeen } from '../../warehouse/fit-column.ts';
import { countLiveRows } from '../../warehouse/live-rows.ts';
import { learnElements } from '../../load/learn-elements.ts';
import { forgetMarked } from '../../warehouse/marked-rows.ts';
import { carryRows } from './carry-rows.ts';
import { noteMarked, noteRead } from './earlier-rows.ts';
import type { SliceArchive } from './find-archive.ts';
import { applyColumnChanges, planColumns, rememberMasks } from '../../load/plan-columns.ts';
import { scheduleCompaction } from '../../../state/rewrite-mark.ts';
import { type ReplayedScan, replayScan } from './replay-scan.ts';
import { assertOwnReaders, noteReaders, readHeldRows } from './judge-readers.ts';
import { readFormer, restoreFormer } from './restore-former.ts';
import { restoreHistory, restoreTimes, settleHistory } from './restore-history.ts';
import type { RunContext } from '../../run/run-context.ts';

/** The result of rebuilding one stream. */
export interface RebuiltTable {
  readonly scans: number;
  readonly pages: number;
  readonly records: number;
  /** undefined if there was no table. */
  readonly rowsBefore: number | undefined;
  readonly rowsAfter: number;
  /** Rows that are no longer in the archive, kept unchanged. */
  readonly rowsKept: number;
  readonly rowsQuarantined: number;
  readonly schemaChanges: readonly SchemaChange[];
  readonly notes: readonly string[];
}

/** Called after each scan, with what was loaded so far. */
export type OnReplayed = (done: { readonly pages: number; readonly records: number }) => void;

/** How a table is rebuilt. */
interface RebuildOptions {
  /** Folder for what is unpacked. */
  readonly stage: string;
  /** Do not keep rows that are not in the archive. */
  readonly archivedOnly: boolean;
  readonly onReplayed: OnReplayed;
}

// Names with a space, which no stream's table can have.
const asideOf = (table: string): string => `${table} before rebuild`;

/**
 * Rebuilds a stream's table, columns, key and quarantine from its archived scans, in the order of their commits.
 * Works on a copy of the work file: until the caller replaces the original, a failure or a kill changes nothing.
 */
export async function rebuildTable(
  context: RunContext,
  stream: Stream,
  archives: readonly SliceArchive[],
  { stage, archivedOnly, onReplayed }: RebuildOptions,
): Promise<RebuiltTable> {
  const { database } = context;
  const existed = await tableExists(database, stream.table);
  const before = await readContract(database, stream.name);
  const masked = await maskTable(context, stream, existed ? before : []);
  const rowsBefore = existed ? await countLiveRows(database, stream.table, '') : undefined;
  const hadHistory = await tableExists(database, historyOf(stream.table));
  const former = await readFormer(database, stream, archives);
  const held = await readHeldRows(database, stream);
  assertOwnReaders(archives, held);
  if (existed && hadHistory) await settleHistory(context, stream, masked.contract);
  await keepRunRecords(database);
  await database.transaction(async () => {
    for (const table of [
      ...(existed ? [stream.table] : []),
      ...(hadHistory ? [historyOf(stream.table)] : []),
    ])
      await renameTable(database, table, asideOf(table));
    await forgetStream(context, stream, archives);
  });

  const seen = listSeen(masked.contract);
  const tables = { older: asideOf(stream.table), newer: stream.table };
  const keeps = existed && !archivedOnly;
  if (keeps) await noteMarked(context, tables.older, archives);
  const replayed = await replayAll(context, archives, stage, async ({ stream: slice }, done) => {
    if (keeps) await noteRead(context, { ...tables, seen }, slice);
    onReplayed(done);
  });
  const kept = existed
    ? await carryRows(context, stream, archives, {
        ...tables,
        ...masked,
        archivedOnly,
      })
    : 0;
  // Those rows are not of this run.
  if (kept > 0) await database.transaction(() => learnElements(context, stream, 'all'));
  if (existed) await restoreTimes(context, stream, { older: tables.older, seen, hasVersions: hadHistory });
  if (hadHistory) await restoreHistory(context, stream, { aside: asideOf(historyOf(stream.table)), seen });
  const unknown = await database.transaction(async () => {
    for (const archive of archives) await restoreCheckpoint(context, archive);
    await restoreFormer(database, stream, former);
    await restoreRunRecords(database);
    return noteReaders(database, stream, archives, held);
  });
  await dropTable(database, tables.older);
  await forgetMarked(database);
  // The file contains the bytes of both tables until it is compacted.
  await scheduleCompaction(database);
  const quarantined = await database.count('SELECT count(*) FROM _sluice.quarantine WHERE stream = $1', [
    stream.name,
  ]);
  return {
    ...measureArchives(archives),
    rowsBefore,
    rowsAfter: await countLiveRows(database, stream.table, ''),
    rowsKept: kept,
    rowsQuarantined: quarantined,
    schemaChanges: compareContracts(before, await readContract(database, stream.name)),
    notes: [...describeReplayed(replayed), ...unknown],
  };
}

/** Masks the older table and its history by the current config, as a sync would. */
async function maskTable(
  { database, settings }: RunContext,
  stream: Stream,
  contract: readonly LearnedColumn[],
): Promise<{ readonly contract: readonly LearnedColumn[]; readonly cleared: ReadonlySet<string> }> {
  const nothingNew = { tree: createFieldTree(), forced: [] };
  const { changes } = await planColumns(
    database,
    { stream, learned: contract, hashKey: settings.hashKey },
    nothingNew,
  );
  const { masked } = changes;
  await database.transaction(async () => {
    await applyColumnChanges(database, stream, [], changes);
    await rememberMasks(database, stream, changes);
  });
  return {
    contract: masked?.left ?? contract,
    cleared: new Set(masked?.cleared.map(({ column }) => column.name)),
  };
}

/** All scans of a stream's slices, in the order in which they were loaded; a slice's own order comes first. */
function orderScans(
  archives: readonly SliceArchive[],
): readonly { readonly archive: SliceArchive; readonly scan: ArchivedScan }[] {
  const queues = archives.map((archive) => archive.scans.map((scan) => ({ archive, scan })));
  const ordered: { archive: SliceArchive; scan: ArchivedScan }[] = [];
  for (;;) {
    const next = queues
      .filter((queue) => queue.length > 0)
      .toSorted((a, b) => (a[0]?.scan.loadedAtMs ?? 0) - (b[0]?.scan.loadedAtMs ?? 0))[0]
      ?.shift();
    if (next === undefined) return ordered;
    ordered.push(next);
  }
}

async function replayAll(
  context: RunContext,
  archives: readonly SliceArchive[],
  stage: string,
  onReplayed: (archive: SliceArchive, done: Parameters<OnReplayed>[0]) => Promise<void>,
): Promise<readonly ReplayedScan[]> {
  const replayed: ReplayedScan[] = [];
  let pages = 0;
  let records = 0;
  for (const { archive, scan } of orderScans(archives)) {
    // Versions reach further back than the archive.
    const slice: Stream = { ...archive.stream, history: false };
    replayed.push(await replayScan(context, slice, scan, { archive: archive.folder, stage }));
    pages += scan.pages;
    records += scan.rows;
    await onReplayed(archive, { pages, records });
  }
  return replayed;
}

async function forgetStream(
  { database }: RunContext,
  stream: Stream,
  archives: readonly SliceArchive[],
): Promise<void> {
  for (const archive of archives) {
    const slice = sliceIdOf(archive.stream);
    await deleteCheckpoint(database, stream.name, slice);
    const runIds = archive.scans.map(({ runId }) => runId);
    await deleteQuarantine(database, stream.name, { slice, runIds });
  }
  await deleteContract(database, stream.name);
}

/**
 * Restores what earlier scans proved, also before the archive starts. What the current rules changed stays as the
 * replayed scans left it: a key that several records share, for example, makes them unverified.
 */
async function restoreCheckpoint(
  { database }: RunContext,
  { stream, scans, checkpoint: held }: SliceArchive,
): Promise<void> {
  const replayed = await readCheckpoint(database, stream.name, sliceIdOf(stream));
  if (replayed === undefined) return;
  const rule = findCursorRule(scans);
  const isSameRule = rule === nameCursorRule(stream.cursor);
  if (held === undefined) {
    // The scans continued from each other by another cursor: only a full one begins with this.
    const isOther = rule !== undefined && !isSameRule;
    const unread = { watermark: undefined, lastFullScanAt: undefined, lastVerifiedAt: undefined };
    if (isOther) await writeCheckpoint(database, { ...replayed, ...unread });
    return;
  }
  const sameCursor = replayed.cursorField === held.cursorField;
  const sameKey = replayed.keyFields?.join() === held.keyFields?.join();
  const isDoubted = held.lastVerdict === 'verified' && replayed.lastVerdict !== 'verified';
  await writeCheckpoint(database, {
    ...replayed,
    // With another cursor the next scan is a full one, as it would be without a rebuild.
    fingerprint: isSameRule ? replayed.fingerprint : held.fingerprint,
    fullRefreshDue: held.fullRefreshDue ?? replayed.fullRefreshDue,
    ...(sameCursor && { cursorState: held.cursorState, watermark: held.watermark }),
    ...(sameKey && { keyProvedOn: held.keyProvedOn }),
    lastFullScanAt: held.lastFullScanAt,
    rowsDeclared: held.rowsDeclared,
    ...(!isDoubted && {
      lastVerifiedAt: held.lastVerifiedAt,
      lastVerdict: held.lastVerdict,
      head: held.head,
    }),
  });
}

function compareContracts(
  before: readonly LearnedColumn[],
  after: readonly LearnedColumn[],
): readonly SchemaChange[] {
  const olds = new Map(before.map(({ name, type }) => [name, type]));
  return after.flatMap(({ name, type }): readonly SchemaChange[] => {
    const fromType = olds.get(name);
    if (fromType === type || type === 'NULL') return [];
    const isNew = fromType === undefined || fromType === 'NULL';
    return [
      isNew
        ? { column: name, change: 'added', fromType: undefined, toType: type }
        : { column: name, change: 'replaced', fromType, toType: type },
    ];
  });
}

function describeReplayed(replayed: readonly ReplayedScan[]): readonly string[] {
  const duplicates = replayed.reduce((sum, one) => sum + one.duplicates, 0);
  // Each scan may have the same notes; the newest one counts.
  const warnings = replayed.at(-1)?.warnings ?? [];
  return [
    ...(duplicates === 0
      ? []
      : [
          `${formatCountOf(duplicates, 'record')} ${verbOf(duplicates, 'has', 'have')} the key of another record; the last one counts`,
        ]),
    ...warnings,
  ];
}

/** What a rebuild of a stream would load. */
export function measureArchives(archives: readonly SliceArchive[]): {
  readonly scans: number;
  readonly pages: number;
  readonly records: number;
} {
  const scans = archives.flatMap((archive) => archive.scans);
  return {
    scans: scans.length,
    pages: scans.reduce((sum, { pages }) => sum + pages, 0),
    records: scans.reduce((sum, { rows }) => sum + rows, 0),
  };
}
