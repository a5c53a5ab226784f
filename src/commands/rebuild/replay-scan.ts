import { join } from 'node:path';
import { readCheckpoint } from '../../../state/checkpoints.ts';
import type { ArchivedScan } from '../../archive/archived-scan.ts';
import { unpackRecords } from '../../archive/unpack-records.ts';
import { damagedFile } from '../../archive/archive-errors.ts';
import { BugError } from '../../model/errors.ts';
import { RecordClock } from '../../model/record-clock.ts';
import type { RowCounts } from '../../model/run-report.ts';
import { type Checkpoint, sliceIdOf, type Stream } from '../../model/stream.ts';
import {
  createFieldTree,
  type FieldTree,
  isRecordObject,
  observeRecord,
} from '../../schema/observe-fields.ts';
import { type StagedLines, stagedPageSchema, StageStore } from '../../stage/stage-store.ts';
import { formatStagedLines, parsePageRecord } from '../../stage/staged-records.ts';
import { refuteByDays } from '../../load/asked-days.ts';
import { commitScan } from '../../load/commit-scan.ts';
import { doubtSharedKeys } from '../../load/confirm-duplicates.ts';
import { compileMask } from '../../schema/mask-records.ts';
import { prepareLoad } from '../../load/prepare-load.ts';
import { refusePartOfKeyless } from '../../load/refuse-scan.ts';
import { reportStream } from '../../run/report-stream.ts';
import type { RunContext } from '../../run/run-context.ts';
import type { FetchedScan } from '../../run/scan.ts';
import { doneOf } from '../../run/step.ts';
import { incomplete } from './find-archive.ts';
import { beginTurn, type LoadedScan, type Turn } from '../../run/turn.ts';

/** The result of reloading an archived scan. */
export interface ReplayedScan {
  readonly rows: RowCounts;
  /** Rows dropped because a later one has the same key. */
  readonly duplicates: number;
  /** Warnings that a sync would have given. */
  readonly warnings: readonly string[];
}

/** Where a scan is read from and unpacked to. */
export interface ReplayFolders {
  /** With the scan's files. */
  readonly archive: string;
  /** Empty, for unpacked pages. */
  readonly stage: string;
}

/**
 * Loads an archived scan again with the current rules: the same steps as in a sync, with the run id and the time of
 * the scan's own run, and without requests.
 */
export async function replayScan(
  context: RunContext,
  stream: Stream,
  archived: ArchivedScan,
  folders: ReplayFolders,
): Promise<ReplayedScan> {
  const scan = await unpackScan(context, stream, archived, folders);
  const { limit, from, allowEmpty } = archived.options;
  const then: RunContext = {
    ...context,
    runId: archived.runId,
    recordClock: RecordClock.stoppedAt(context.clock, archived.loadedAtMs),
    options: {
      ...(limit !== undefined && { limit }),
      ...(from !== undefined && { from }),
      ...(allowEmpty !== undefined && { allowEmpty }),
    },
  };
  const checkpoint = await readKnown(context, stream, archived);
  const turn = await beginTurn(then, { stream, plan: scan.plan, checkpoint });
  const load = doneOf(await prepareLoad(then, turn, scan));
  if (load.key === undefined && load.tableExisted) refusePartOfKeyless(stream, scan, checkpoint);
  // Its own run had a key or a date for it, which the current rules take away; a sync would read in full instead.
  const refuted = refuteByDays(scan, load);
  if (refuted !== undefined)
    throw incomplete(stream, `a scan of a part of its rows cannot be loaded again: ${refuted.because}`);
  // The key may not be the one that its own run had.
  const judged = doubtSharedKeys(stream, scan, load);
  const report = doneOf(await commitReplayed(then, turn, { scan: judged, load }));
  return { rows: report.rows, duplicates: load.key?.duplicates ?? 0, warnings: load.warnings };
}

function commitReplayed(context: RunContext, turn: Turn, loaded: LoadedScan) {
  const { scan } = loaded;
  const started = { atMs: scan.startedAtMs, requests: 0 };
  return commitScan(context, turn, loaded, {
    describe: (committed) =>
      reportStream(context, turn.stream, started, {
        status: 'complete',
        mode: scan.plan.mode,
        verdict: scan.verdict,
        scan,
        committed,
        checkpoint: committed.checkpoint,
      }),
    saveRun: () => Promise.resolve(),
  });
}

/** The checkpoint before the scan's own run, as far as earlier scans show it. */
async function readKnown(
  { database }: RunContext,
  stream: Stream,
  { known, runId, plan }: ArchivedScan,
): Promise<Checkpoint | undefined> {
  const held = await readCheckpoint(database, stream.name, sliceIdOf(stream));
  if (held === undefined) return known?.cursorState === 'refuted' ? refutedBefore(stream, runId) : undefined;
  const cursorState = known?.cursorState;
  // Its key included the date: without it one row could replace another.
  const dated = plan.mode === 'incremental' && held.keyOrigin === 'learned' ? known?.keyFields : undefined;
  const isDated = dated !== undefined && held.keyFields?.every((name) => dated.includes(name)) === true;
  if (isDated && dated.length > (held.keyFields?.length ?? 0))
    return { ...held, cursorState, keyFields: dated };
  const mayRelearn = plan.mode === 'full' && known?.keyFields === undefined && held.keyOrigin === 'learned';
  if (!mayRelearn) return { ...held, cursorState };
  // Its run had found that the key did not hold.
  return { ...held, cursorState, keyFields: undefined, keyOrigin: undefined, keyProvedOn: [] };
}

// Without it a cursor that the API was known not to honour would be part of the key again.
function refutedBefore(stream: Stream, runId: string): Checkpoint {
  return {
    stream: stream.name,
    slice: sliceIdOf(stream),
    fingerprint: stream.fingerprint,
    cursorField: undefined,
    cursorState: 'refuted',
    watermark: undefined,
    keyFields: undefined,
    keyOrigin: undefined,
    keyProvedOn: [],
    lastFullScanAt: undefined,
    lastVerifiedAt: undefined,
    lastVerdict: undefined,
    rowsDeclared: undefined,
    head: undefined,
    rules: undefined,
    runId,
  };
}

async function unpackScan(
  context: RunContext,
  stream: Stream,
  archived: ArchivedScan,
  folders: ReplayFolders,
): Promise<FetchedScan> {
  const { recordsFile, tree } = await stageAgain(context, stream, archived, folders);
  return {
    plan: { ...archived.plan, from: archived.plan.from, warnings: [] },
    recordsFile,
    tree,
    datedBy: archived.datedBy,
    verdict: archived.verdict,
    reasons: archived.reasons,
    ...(archived.cause !== undefined && { cause: archived.cause }),
    total: archived.total,
    rows: archived.rows,
    pages: archived.pages,
    rescans: archived.rescans,
    duplicateMembers: archived.duplicateMembers,
    ...(archived.isApart !== undefined && { isApart: archived.isApart }),
    ...(archived.inApi !== undefined && { counted: { rows: archived.inApi, canReadInFull: false } }),
    startedAtMs: archived.startedAtMs,
    serverDateMs: archived.serverDateMs,
    head: archived.head && { ...archived.head, total: archived.head.total },
    reread: () =>
      Promise.reject(
        new BugError('an archived scan was asked for a page', { code: 'bug', hint: 'Please report this.' }),
      ),
  };
}

/** Stages the archived pages again, masked by the current rules. */
async function stageAgain(
  { settings, signal }: RunContext,
  stream: Stream,
  { content, masks, runId, startedAtMs }: ArchivedScan,
  { archive, stage }: ReplayFolders,
): Promise<{ readonly recordsFile: string; readonly tree: FieldTree }> {
  const path = join(archive, content.file);
  // Fields masked before the pages were archived are already masked.
  const mask = compileMask(stream, settings.hashKey, masks);
  const tree = createFieldTree();
  const scan = { version: 1, stream: stream.name, question: 'rebuild', startedAtMs, runId } as const;
  const store = await StageStore.begin(stage, scan, { isDurable: false });
  try {
    let lines = '';
    for await (const batch of unpackRecords(archive, content, signal)) {
      for (const line of batch) {
        if (line.startsWith('#')) {
          void store.append({ entry: readPage(line, path), lines }).catch(() => undefined);
          await store.settle();
          lines = '';
          continue;
        }
        const { position, record } = readRecord(line, path);
        const masked = mask === undefined ? record : mask.mask(record);
        if (isRecordObject(masked.value)) observeRecord(tree, masked.value);
        lines += formatStagedLines(position, [masked]);
      }
    }
    await store.flush();
    return { recordsFile: store.recordsFile, tree };
  } finally {
    await store.close();
  }
}

function readPage(line: string, path: string): StagedLines['entry'] {
  try {
    return stagedPageSchema.omit({ endByte: true }).parse(JSON.parse(line.slice(1)));
  } catch (error) {
    throw damagedFile(path, 'a line of it is not a page', error);
  }
}

function readRecord(line: string, path: string): ReturnType<typeof parsePageRecord> {
  try {
    return parsePageRecord(line);
  } catch (error) {
    throw damagedFile(path, 'a line of it is not a record', error);
  }
}
