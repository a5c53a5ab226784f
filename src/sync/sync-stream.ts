import { ContractError, ResponseError, type SyncError, toSyncError } from '../model/errors.ts';
import { formatCountOf, verbOf } from '../text/format-count.ts';
import type { Page } from '../model/page.ts';
import type { StreamReport, StreamStatus } from '../model/run-report.ts';
import { type Checkpoint, nameOf, sliceIdOf, type Stream } from '../model/stream.ts';
import { countMissingRows } from '../warehouse/missing-rows.ts';
import { discardStage } from '../stage/stage-store.ts';
import { beginPacking, commitAndArchive, type PackedScan, type Packing } from '../load/archive-scan.ts';
import { commitScan } from '../load/commit-scan.ts';
import { judgeDuplicates } from '../load/confirm-duplicates.ts';
import { countInApi } from '../load/count-in-api.ts';
import { describeStaleness } from '../read/describe-staleness.ts';
import { fetchScan } from '../read/fetch-scan.ts';
import { MAX_RESCANS } from '../read/offset-scan.ts';
import { preferStagedFullScan, StagedPagesOutdated } from '../read/staged-full-scan.ts';
import { refuseRowsOfNoDay, windowOf } from '../load/asked-days.ts';
import { type EarlyWork, withEarlyWork } from '../load/early-work.ts';
import { countCarried } from '../load/own-values.ts';
import { prepareLoad } from '../load/prepare-load.ts';
import { proveSlice } from '../load/prove-slice.ts';
import { refuteByCounts, refuteByPage, refuteByRows, toReadInFull } from '../load/read-in-full.ts';
import { describeDrift, refusePartOfKeyless, refuseUnfinished } from '../load/refuse-scan.ts';
import { reportStream, type StagedSoFar, type Started } from '../run/report-stream.ts';
import { assertProved } from './settle-identity.ts';
import { refuseUnseenKey } from '../storage/unseen-names.ts';
import type { RunContext } from '../run/run-context.ts';
import type { CommittedScan, FetchedScan, PreparedLoad } from '../run/scan.ts';
import type { ScanPlan } from '../plan/scan-plan.ts';
import { beginTurn, type PlannedScan, type Turn } from '../run/turn.ts';
import { reportUnmoved, SourceUnmoved, watchHead } from '../read/skip-unchanged.ts';

/** What a stream's sync led to; the error is for the run to act on (see `recovery`). */
export interface StreamOutcome {
  readonly report: StreamReport;
  readonly error: SyncError | undefined;
  readonly committed: boolean;
}

/** Saves the run's own row; called in the transaction that commits a scan. */
export type SaveRun = (report: StreamReport) => Promise<void>;

/** Syncs one stream: fetch, load, one commit. Never throws: what failed is in the outcome. */
export async function syncStream(
  context: RunContext,
  planned: PlannedScan,
  started: Started,
  saveRun: SaveRun,
): Promise<StreamOutcome> {
  const { stream, plan, checkpoint } = planned;
  // What a stream that stops half-way has staged, its last page event tells. Of a document nothing is kept.
  let staged: StagedSoFar | undefined;
  let { mode } = plan;
  const watched: RunContext = {
    ...context,
    emit(event) {
      if (event.type === 'stream-started') mode = event.mode;
      if (event.type === 'page-staged' && stream.paginated)
        staged = { pages: event.pagesDone, total: event.rowsDeclared };
      // A slice is shown beside the others of its stream.
      context.emit(
        'stream' in event && event.stream !== undefined ? { ...event, stream: nameOf(stream) } : event,
      );
    },
  };
  try {
    await assertProved(context, stream);
    const scan = (scanPlan: ScanPlan) =>
      scanAndCommit(watched, { ...planned, plan: scanPlan }, started, saveRun);
    const preferred = await preferStagedFullScan(context, planned);
    const report = await scan(preferred).catch((thrown: unknown) => {
      if (thrown instanceof StagedPagesOutdated) return scan(plan);
      throw thrown;
    });
    context.emit({ type: 'stream-finished', report });
    return { report, error: undefined, committed: true };
  } catch (thrown) {
    if (thrown instanceof SourceUnmoved) {
      const report = await reportUnmoved(context, planned, started, thrown);
      context.emit({ type: 'stream-finished', report });
      return { report, error: undefined, committed: false };
    }
    const error = toSyncError(thrown);
    const report = reportStream(context, stream, started, {
      status: statusOf(stream, checkpoint, error),
      mode,
      verdict: 'partial',
      ...(staged === undefined ? {} : { staged }),
      checkpoint,
      error,
    });
    context.emit({ type: 'stream-finished', report });
    return { report, error, committed: false };
  }
}

async function scanAndCommit(
  context: RunContext,
  planned: PlannedScan,
  started: Started,
  saveRun: SaveRun,
): Promise<StreamReport> {
  const { emit } = context;
  const { stream, plan, checkpoint } = planned;
  for (const message of plan.warnings) emit({ type: 'warning', stream: stream.name, message });
  emit({
    type: 'stream-started',
    stream: stream.name,
    mode: plan.mode,
    ...(plan.from === undefined ? {} : { from: plan.from }),
  });
  try {
    return await scanOnce(context, await beginTurn(context, planned), started, saveRun);
  } catch (thrown) {
    const why = toReadInFull(stream, plan, context.options, thrown);
    if (why === undefined) throw thrown;
    emit({ type: 'note', stream: stream.name, message: why.message });
    const full: ScanPlan = {
      mode: 'full',
      from: undefined,
      trial: false,
      reason: why.message,
      warnings: [],
      isBroughtForward: why.isBroughtForward,
      readsAll: true,
    };
    const known = checkpoint && { ...checkpoint, ...why.unlearned };
    return scanAndCommit(context, { stream, plan: full, checkpoint: known }, started, saveRun);
  }
}

async function scanOnce(
  context: RunContext,
  turn: Turn,
  started: Started,
  saveRun: SaveRun,
): Promise<StreamReport> {
  const { emit, settings } = context;
  const { stream, plan, checkpoint, learned } = turn;
  const cursorPath = learned.find(({ name }) => name === checkpoint?.cursorField)?.path;
  const lookAtHead = await watchHead(context, turn);
  const isKeyless = stream.key.kind !== 'fields' && checkpoint?.keyFields === undefined;
  const mayRefute = plan.trial || (plan.mode === 'incremental' && isKeyless);
  const onFirstPage = (page: Page) => {
    lookAtHead?.(page);
    refuseUnseenKey(stream, page);
    if (mayRefute && cursorPath !== undefined) refuteByPage(turn, page, cursorPath);
  };
  const question = { stream, hashKey: settings.hashKey, checkpoint, learned };
  const prepared = await withEarlyWork(context, question, (early) =>
    fetchAndPrepare(context, turn, onFirstPage, early),
  );
  const { load, packing } = prepared;
  const scan = await packing.orAbandon(() => countInApi(context, stream, prepared.scan, load));
  for (const message of load.notes) emit({ type: 'note', stream: stream.name, message });
  noteOddities(context, stream, scan, load);

  const describe = (committed: CommittedScan): StreamReport => {
    const drift = scan.verdict === 'drifted' ? describeDrift(stream, scan, true) : undefined;
    return reportStream(context, stream, started, {
      status: drift === undefined ? 'complete' : 'failed',
      mode: plan.mode,
      verdict: scan.verdict,
      reasons: [...scan.reasons, ...load.notes, ...committed.notes],
      scan,
      committed,
      checkpoint: committed.checkpoint,
      error: drift,
    });
  };
  const report = await discardIfRefused(turn.stage, () =>
    packing.orAbandon(async () => {
      if (load.key === undefined && load.tableExisted) refusePartOfKeyless(stream, scan, checkpoint);
      return commitAndArchive(context, turn, { scan, load, packing }, (stopped, corrected, counted) =>
        commitScan(stopped, corrected, { scan: counted, load }, { describe, saveRun }),
      );
    }),
  );
  await discardStage(turn.stage);
  return report;
}

/** Reads a scan and prepares its rows; restarts where repeated rows show that the pages moved. */
async function fetchAndPrepare(
  context: RunContext,
  turn: Turn,
  onFirstPage: (page: Page) => void,
  early: EarlyWork,
): Promise<PackedScan> {
  const { stream, checkpoint } = turn;
  const beganAtMs = context.clock.now();
  const prepare = (scan: FetchedScan, packing: Packing) =>
    discardIfRefused(
      turn.stage,
      () => packing.orAbandon(() => prepareLoad(context, turn, scan, early)),
      scan.startedAtMs < beganAtMs,
    );
  for (let rescans = 0; ;) {
    const how = { onFirstPage, rescansBefore: rescans, follower: early };
    const readPages = () => fetchScan(context, turn, how);
    const fetched = await (context.meanwhile?.during(early, readPages) ?? readPages());
    refuseUnfinished(context, stream, fetched);
    refuteByCounts(stream, fetched);
    context.emit({ type: 'stream-loading', stream: stream.name, rows: fetched.rows });
    const packing = beginPacking(context, turn, fetched, early.takePack());
    const carried = countCarried(stream, fetched.tree);
    const load = await prepare(fetched, packing);
    const scan = await packing.orAbandon(async () => {
      refuseRowsOfNoDay(fetched, load);
      await tryCursor(context, stream, fetched, load);
      const judged = await judgeDuplicates(stream, fetched, load);
      const isReadAgain = moved(judged, fetched) && judged.rescans < MAX_RESCANS;
      return isReadAgain ? judged : proveSlice(context, { stream, scan: judged, load, checkpoint, carried });
    });
    if (!moved(scan, fetched)) {
      const stale = describeStaleness(scan, load, checkpoint);
      return { scan, packing, load: stale === undefined ? load : { ...load, notes: [...load.notes, stale] } };
    }
    // Of a scan that moved the key is not learned from its rows.
    if (scan.rescans >= MAX_RESCANS) return { scan, packing, load: await prepare(scan, packing) };
    await packing.abandon();
    context.emit({ type: 'stream-restarted', stream: stream.name, reason: scan.reasons[0] ?? '' });
    rescans = scan.rescans + 1;
  }
}

/** Whether rows that came twice showed what the pages did not. */
function moved(judged: FetchedScan, fetched: FetchedScan): boolean {
  return judged.verdict === 'drifted' && fetched.verdict !== 'drifted';
}

/** Holds a trial's rows against the table's; throws ReadInFull. */
async function tryCursor(
  { database }: RunContext,
  stream: Stream,
  scan: FetchedScan,
  load: PreparedLoad,
): Promise<void> {
  const window = windowOf(scan, load);
  // A part of the rows, as --limit reads, proves nothing.
  const isWhole = scan.verdict !== 'partial' && scan.rows > 0;
  if (!scan.plan.trial || !load.tableExisted || !isWhole || window === undefined) return;
  const missing = await countMissingRows(database, stream.table, sliceIdOf(stream), window);
  refuteByRows(stream, missing, load.key === undefined || stream.deletes !== 'keep');
}

/**
 * Drops the staged pages if their data is rejected: the source must fix it and be read again. Pages that violate a
 * contract are kept for one more run, as the contract may be changed.
 */
async function discardIfRefused<T>(folder: string, load: () => Promise<T>, isSecondLook = false): Promise<T> {
  try {
    return await load();
  } catch (thrown) {
    if (thrown instanceof ResponseError || (isSecondLook && thrown instanceof ContractError))
      await discardStage(folder);
    throw thrown;
  }
}

function noteOddities({ emit }: RunContext, stream: Stream, scan: FetchedScan, load: PreparedLoad): void {
  const warn = (message: string) => emit({ type: 'warning', stream: stream.name, message });
  const doubled = scan.duplicateMembers;
  const repeated = load.key?.duplicates ?? 0;
  if (doubled > 0)
    warn(
      `${formatCountOf(doubled, 'record')} ${verbOf(doubled, 'names', 'name')} a field twice; the last value counts`,
    );
  if (repeated > 0)
    warn(
      `${formatCountOf(repeated, 'row')} ${verbOf(repeated, 'has', 'have')} the key of another row; the last one counts`,
    );
  for (const message of load.warnings) warn(message);
}

function statusOf(stream: Stream, checkpoint: Checkpoint | undefined, error: SyncError): StreamStatus {
  if (error.exitCode === 75 || error.exitCode === 130 || error.exitCode === 143) return 'stopped';
  // One that was there before is gone: the API did offer this endpoint.
  const neverWas = error.code === 'stream_not_found' && !stream.named && checkpoint === undefined;
  return neverWas ? 'unavailable' : 'failed';
}
