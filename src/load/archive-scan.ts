import { dirname } from 'node:path';
import {
  announceScan,
  confirmScan,
  makeArchiveFolder,
  removeScans,
  settleArchive,
} from '../archive/archive-folder.ts';
import { type ArchivedContent, type ArchivedScan, isWhole } from '../archive/archived-scan.ts';
import { EarlyPack } from '../archive/early-pack.ts';
import { type PackedPage, packRecords } from '../archive/pack-records.ts';
import { emptyArchive, pruneArchive } from '../archive/prune-archive.ts';
import { assertNotAborted } from '../model/abort.ts';
import { RecordClock } from '../model/record-clock.ts';
import { BugError, ResponseError } from '../model/errors.ts';
import { type Checkpoint, nameCursorRule, nameOf, sliceIdOf, type Stream } from '../model/stream.ts';
import { readStage, type StagedPageEntry } from '../stage/stage-store.ts';
import { describeMasks } from '../schema/mask-records.ts';
import type { Loading, Recording, RunContext } from '../run/run-context.ts';
import { correctFutureTimes, findRetentionTime } from '../storage/record-times.ts';
import type { FetchedScan, PreparedLoad } from '../run/scan.ts';
import type { CommitStep, Step } from '../run/step.ts';
import type { LoadedScan, PlannedScan, Turn } from '../run/turn.ts';
import { nameKey } from '../model/hash-key.ts';
import { archiveFolder, hashAddress } from '../storage/state-folder.ts';

/** A scan whose pages are in the archive and wait for its commit. */
interface Receipt {
  /** Call once the scan is committed. */
  confirm(): Promise<void>;
  /** Call if it certainly will not be. */
  drop(): Promise<void>;
}

/** A scan's records on their way into the archive, compressed while its rows are prepared. */
export interface Packing {
  /** The packed content; undefined if no archive is kept. */
  readonly content: Promise<ArchivedContent | undefined>;
  /** Does the rest of the scan's work; unless that completes, the records are removed from the archive. */
  during<T>(work: () => Promise<Step<T>>): Promise<Step<T>>;
}

/** A loaded scan whose records are on their way into the archive. */
export interface PackedScan extends LoadedScan {
  readonly packing: Packing;
}

/** Starts packing a scan that is still running; undefined if no archive is kept. */
export function beginEarlyPack(
  { settings }: Loading,
  stream: Stream,
  checkpoint: Checkpoint | undefined,
  recordsFile: string,
): EarlyPack | undefined {
  if (settings.retention.archiveMs === 0) return undefined;
  const folder = archiveFolder(settings.stateDir, stream);
  return new EarlyPack(folder, recordsFile, () => prepareFolder(folder, checkpoint));
}

/** Starts packing a completely staged scan, or finishes an early pack. */
export function beginPacking(
  { settings, signal }: RunContext,
  { stream, checkpoint }: PlannedScan,
  scan: FetchedScan,
  early?: EarlyPack,
): Packing {
  const folder = archiveFolder(settings.stateDir, stream);
  const ending = new AbortController();
  const either = signal === undefined ? ending.signal : AbortSignal.any([signal, ending.signal]);
  const content =
    settings.retention.archiveMs === 0
      ? emptyArchive(folder).then(() => undefined)
      : pack(folder, scan, { checkpoint, early, signal: either });
  // Awaited when the rows are ready; a failure is reported then.
  content.catch(() => undefined);
  const abandon = async () => {
    ending.abort();
    await early?.abandon();
    await content.catch(() => undefined);
    // By name, since an earlier scan may have had the same records.
    await removeScans(folder, []).catch(() => undefined);
  };
  return {
    content,
    async during(work) {
      try {
        const step = await work();
        if ('instead' in step) await abandon();
        return step;
      } catch (thrown) {
        await abandon();
        throw thrown;
      }
    },
  };
}

interface PackFacts {
  readonly checkpoint: Checkpoint | undefined;
  readonly early: EarlyPack | undefined;
  readonly signal: AbortSignal;
}

async function pack(
  folder: string,
  { recordsFile }: FetchedScan,
  { checkpoint, early, signal }: PackFacts,
): Promise<ArchivedContent> {
  const begun = await early?.finish();
  if (begun !== undefined) return begun;
  const pages = toPackedPages((await readStage(dirname(recordsFile)))?.pages ?? []);
  await prepareFolder(folder, checkpoint);
  return packRecords(folder, recordsFile, pages, signal);
}

async function prepareFolder(folder: string, checkpoint: Checkpoint | undefined): Promise<void> {
  makeArchiveFolder(folder);
  await settleArchive(folder, checkpoint?.runId);
}

/**
 * Commits a scan and keeps its pages, compressed. They are archived first: if the process dies after the commit, the
 * checkpoint shows the next run that they are valid. Archive errors never fail the sync; the chain of scans then has
 * a gap, which a rebuild notices.
 *
 * @param commit gets the turn with a checkpoint without times in the future, and a context whose clock stands still:
 *   rows loaded again from the archive must have the same `_synced_at`. If it needs a new count, it is tried once
 *   more with one.
 */
export async function commitAndArchive<T>(
  context: RunContext,
  turn: Turn,
  { scan, load, packing }: PackedScan,
  commit: (context: RunContext, turn: Turn, scan: FetchedScan) => Promise<CommitStep<T>>,
): Promise<Step<T>> {
  const corrected = { ...turn, checkpoint: await correctFutureTimes(context, turn.checkpoint) };
  const loadedAtMs = context.recordClock.now();
  const stopped = { ...context, recordClock: RecordClock.stoppedAt(context.clock, loadedAtMs) };
  const commitCounted = async (counted: FetchedScan): Promise<CommitStep<T>> => {
    const receipt = await archiveScan(context, turn, { scan: counted, load, packing }, loadedAtMs);
    try {
      const step = await commit(stopped, corrected, counted);
      if ('done' in step) await receipt.confirm();
      return step;
    } catch (thrown) {
      // Errors of the data itself never reached the database; for all others the checkpoint shows what happened.
      if (thrown instanceof ResponseError) await receipt.drop();
      throw thrown;
    }
  };
  const first = await commitCounted(scan);
  if (!('recount' in first)) return first;
  // Its header replaces the previous one, which has the same name.
  const counted = await scan.counted?.again?.(first.recount);
  const second = await commitCounted({ ...scan, ...(counted && { counted }) });
  if (!('recount' in second)) return second;
  throw new BugError('a scan was to be counted a third time', { code: 'bug', hint: 'Please report it.' });
}

async function archiveScan(
  context: RunContext,
  turn: Turn,
  { packing, ...loaded }: PackedScan,
  loadedAtMs: number,
): Promise<Receipt> {
  const { stream } = turn;
  const { settings, signal } = context;
  const folder = archiveFolder(settings.stateDir, stream);
  try {
    const content = await packing.content;
    if (content === undefined) return NOT_KEPT;
    const archived = { ...describeScan(context, turn, loaded, loadedAtMs), content };
    await announceScan(folder, archived);
    return {
      confirm: async () => guard(context, stream, () => confirmAndPrune(context, folder, archived)),
      drop: async () => guard(context, stream, () => removeScans(folder, [archived])),
    };
  } catch (error) {
    assertNotAborted(signal);
    warn(context, stream, error);
    return NOT_KEPT;
  }
}

const NOT_KEPT: Receipt = { confirm: () => Promise.resolve(), drop: () => Promise.resolve() };

async function confirmAndPrune(context: Recording, folder: string, archived: ArchivedScan): Promise<void> {
  await confirmScan(folder, archived);
  await pruneArchive(folder, {
    beforeMs: findRetentionTime(context) - context.settings.retention.archiveMs,
    lastRunId: archived.runId,
    masks: archived.masks,
    // Pages with different masks may be removed once everything was read again.
    thorough: isWhole(archived),
  });
}

async function guard(
  context: Pick<RunContext, 'emit'>,
  stream: Stream,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    warn(context, stream, error);
  }
}

function warn({ emit }: Pick<RunContext, 'emit'>, stream: Stream, error: unknown): void {
  const message = `${nameOf(stream)}: the pages could not be archived: ${(error as Error).message}. The sync is unaffected; \`sluice rebuild\` will not know this scan until the next full one`;
  emit({ type: 'warning', stream: nameOf(stream), message });
}

function describeScan(
  { settings, options, runId }: RunContext,
  { stream, checkpoint }: PlannedScan,
  { scan, load }: LoadedScan,
  loadedAtMs: number,
): Omit<ArchivedScan, 'content'> {
  const { limit, from, allowEmpty } = options;
  const { columns, cursorColumn } = load;
  return {
    format: 'sluice-archive',
    version: 1,
    stream: stream.name,
    slice: sliceIdOf(stream),
    runId,
    previousRunId: checkpoint?.runId,
    address: hashAddress(settings, stream),
    key: nameKey(settings),
    masks: describeMasks(stream, settings.hashKey),
    plan: {
      mode: scan.plan.mode,
      from: scan.plan.from,
      trial: scan.plan.trial,
      reason: scan.plan.reason,
      isBroughtForward: scan.plan.isBroughtForward,
    },
    options: { limit, from, allowEmpty },
    known: checkpoint && {
      cursorState: checkpoint.cursorState,
      keyFields: checkpoint.keyFields && [...checkpoint.keyFields],
    },
    cursor: nameCursorRule(stream.cursor),
    datedBy: findPath(columns, cursorColumn),
    verdict: scan.verdict,
    reasons: [...scan.reasons],
    cause: scan.cause,
    total: scan.total,
    rows: scan.rows,
    pages: scan.pages,
    rescans: scan.rescans,
    duplicateMembers: scan.duplicateMembers,
    isApart: scan.isApart,
    inApi: scan.counted?.rows,
    startedAtMs: scan.startedAtMs,
    serverDateMs: scan.serverDateMs,
    loadedAtMs,
    head: scan.head,
  };
}

function findPath(columns: PreparedLoad['columns'], cursor: string | undefined): string[] | null {
  const path = columns.find(({ name }) => name === cursor)?.path;
  return path === undefined ? null : [...path];
}

/** Positions of staged pages in their records file; the first one starts at `startByte`. */
export function toPackedPages(pages: readonly StagedPageEntry[], startByte = 0): readonly PackedPage[] {
  return pages.map(({ offset, firstPosition, rows, total, besides, endByte }, at) => ({
    offset,
    firstPosition,
    rows,
    total,
    besides,
    startByte: pages[at - 1]?.endByte ?? startByte,
    endByte,
  }));
}
