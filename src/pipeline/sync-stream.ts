import { readContract } from '../../state/checkpoints.ts';
import { ContractError, ResponseError, type SyncError, toSyncError } from '../model/errors.ts';
import type { Page } from '../model/page.ts';
import type { StreamReport, StreamStatus } from '../model/run-report.ts';
import { type Checkpoint, nameOf, sliceIdOf, type Stream } from '../model/stream.ts';
import { pathKey } from '../schema/name-columns.ts';
import { countLiveRows } from '../warehouse/live-rows.ts';
import { discardStage } from '../warehouse/stage-store.ts';
import { beginPacking, commitAndArchive, type Packing } from './rebuild/archive-scan.ts';
import { commitScan } from './load/commit-scan.ts';
import { judgeDuplicates } from './fetch/confirm-duplicates.ts';
import { describeStaleness } from './fetch/describe-staleness.ts';
import { fetchScan, MAX_RESCANS } from './fetch/fetch-scan.ts';
import { stageFolder } from './state-folder.ts';
import { planStream } from './plan/plan-scan.ts';
import { KeyBroken, prepareLoad } from './load/prepare-load.ts';
import { describeDrift, refusePartOfKeyless, refuseUnfinished } from './load/refuse-scan.ts';
import { reportStream, type StagedSoFar, type Started } from './report-stream.ts';
import type { RunContext } from './run-context.ts';
import type { CommittedScan, FetchedScan, PreparedLoad, ScanPlan } from './scan.ts';
import { reportUnmoved, SourceUnmoved, watchHead } from './fetch/skip-unchanged.ts';

/** What a stream's sync led to; the error is for the run to act on (see `recovery`). */
export interface StreamOutcome {
  readonly report: StreamReport;
  readonly error: SyncError | undefined;
  readonly committed: boolean;
}

/** Saves the run's own row; called in the transaction that commits a scan. */
export type SaveRun = (report: StreamReport) => Promise<void>;

/** Syncs one stream: plan, fetch, load, one commit. Never throws: what failed is in the outcome. */
export async function syncStream(
  context: RunContext,
  stream: Stream,
  checkpoint: Checkpoint | undefined,
  saveRun: SaveRun,
): Promise<StreamOutcome> {
  const started = { atMs: context.clock.now(), requests: context.client.usage.requests };
  const plan = planStream(stream, checkpoint, context.options, started.atMs);
  if (plan.action === 'skip') {
    const report = reportStream(context, stream, started, {
      status: 'fresh',
      verdict: checkpoint?.lastVerdict as StreamReport['verdict'],
      reasons: [plan.reason],
      rowsInTable: await countLiveRows(context.database, stream.table, sliceIdOf(stream)).catch(
        () => undefined,
      ),
      checkpoint,
    });
    context.emit({ type: 'stream-finished', report });
    return { report, error: undefined, committed: false };
  }
  // What a stream that stops half-way has staged, its last page event tells. Of a document nothing is kept.
  let staged: StagedSoFar | undefined;
  const watched: RunContext = {
    ...context,
    emit(event) {
      if (event.type === 'page-staged' && stream.paginated)
        staged = { pages: event.pagesDone, total: event.rowsDeclared };
      // A slice is shown beside the others of its stream.
      context.emit(
        'stream' in event && event.stream !== undefined ? { ...event, stream: nameOf(stream) } : event,
      );
    },
  };
  try {
    const report = await scanAndCommit(watched, stream, plan.scan, checkpoint, started, saveRun);
    context.emit({ type: 'stream-finished', report });
    return { report, error: undefined, committed: true };
  } catch (thrown) {
    if (thrown instanceof SourceUnmoved) {
      const report = await reportUnmoved(context, stream, plan.scan, checkpoint, started, thrown);
      context.emit({ type: 'stream-finished', report });
      return { report, error: undefined, committed: false };
    }
    const error = toSyncError(thrown);
    const report = reportStream(context, stream, started, {
      status: statusOf(stream, checkpoint, error),
      mode: plan.scan.mode,
      verdict: 'partial',
      ...(staged === undefined ? {} : { staged }),
      checkpoint,
      error,
    });
    context.emit({ type: 'stream-finished', report });
    return { report, error, committed: false };
  }
}

/** Thrown on a scan's first page when the API turns out not to honour the cursor's parameter. */
class CursorRefuted extends Error {}

async function scanAndCommit(
  context: RunContext,
  stream: Stream,
  plan: ScanPlan,
  checkpoint: Checkpoint | undefined,
  started: Started,
  saveRun: SaveRun,
): Promise<StreamReport> {
  const { emit } = context;
  for (const message of plan.warnings) emit({ type: 'warning', stream: stream.name, message });
  emit({
    type: 'stream-started',
    stream: stream.name,
    mode: plan.mode,
    ...(plan.from === undefined ? {} : { from: plan.from }),
  });
  try {
    return await scanOnce(context, stream, plan, checkpoint, started, saveRun);
  } catch (thrown) {
    const again = planFullScan(stream, plan, checkpoint, thrown);
    if (again === undefined) throw thrown;
    emit({ type: 'note', stream: stream.name, message: again.reason });
    const full: ScanPlan = {
      mode: 'full',
      from: undefined,
      trial: false,
      reason: again.reason,
      warnings: [],
    };
    return scanAndCommit(context, stream, full, again.checkpoint, started, saveRun);
  }
}

/** What an incremental scan taught that only a full one can mend, or undefined for any other failure. */
function planFullScan(
  stream: Stream,
  plan: ScanPlan,
  checkpoint: Checkpoint | undefined,
  thrown: unknown,
): { readonly reason: string; readonly checkpoint: Checkpoint | undefined } | undefined {
  if (plan.mode === 'full') return undefined;
  if (thrown instanceof KeyBroken) {
    return {
      reason: `the learned key (${thrown.message}) repeats now; reading the stream in full to learn another`,
      checkpoint: checkpoint && {
        ...checkpoint,
        keyFields: undefined,
        keyOrigin: undefined,
        keyProvedOn: [],
      },
    };
  }
  const rejected = thrown instanceof ResponseError && thrown.code === 'request_rejected';
  if (!plan.trial || !(thrown instanceof CursorRefuted || rejected)) return undefined;
  const param = stream.cursor.kind === 'off' ? '' : stream.cursor.param;
  return {
    reason: `the API does not honour ${param} here; reading the stream in full`,
    checkpoint: checkpoint && { ...checkpoint, cursorState: 'refuted' },
  };
}

async function scanOnce(
  context: RunContext,
  stream: Stream,
  plan: ScanPlan,
  checkpoint: Checkpoint | undefined,
  started: Started,
  saveRun: SaveRun,
): Promise<StreamReport> {
  const { database, emit, settings } = context;
  const contract = await readContract(database, stream.name);
  const cursorPath = contract.find(({ name }) => name === checkpoint?.cursorField)?.path;
  const lookAtHead = await watchHead(context, stream, plan, checkpoint);
  const { scan, load, packing } = await fetchAndPrepare(
    context,
    stream,
    plan,
    checkpoint,
    contract,
    (page) => {
      lookAtHead?.(page);
      if (plan.trial && cursorPath !== undefined) refuteCursor(page, cursorPath, plan, checkpoint);
    },
  );
  const folder = stageFolder(settings.stateDir, stream, context.options);
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
  const report = await discardIfRefused(folder, () =>
    packing.orAbandon(async () => {
      if (load.key === undefined && load.tableExisted) refusePartOfKeyless(stream, scan, checkpoint);
      return commitAndArchive(context, stream, scan, checkpoint, packing, (commitContext) =>
        commitScan(commitContext, stream, scan, load, checkpoint, describe, saveRun),
      );
    }),
  );
  await discardStage(folder);
  return report;
}

/** Reads a scan and prepares its rows; begins anew where rows that came twice show that the pages moved. */
async function fetchAndPrepare(
  context: RunContext,
  stream: Stream,
  plan: ScanPlan,
  checkpoint: Checkpoint | undefined,
  contract: Parameters<typeof prepareLoad>[4],
  onFirstPage: (page: Page) => void,
): Promise<{ readonly scan: FetchedScan; readonly load: PreparedLoad; readonly packing: Packing }> {
  const folder = stageFolder(context.settings.stateDir, stream, context.options);
  const beganAtMs = context.clock.now();
  const prepare = (scan: FetchedScan, packing: Packing) =>
    discardIfRefused(
      folder,
      () => packing.orAbandon(() => prepareLoad(context, stream, scan, checkpoint, contract)),
      scan.startedAtMs < beganAtMs,
    );
  for (let rescans = 0; ;) {
    const fetched = await fetchScan(context, stream, plan, checkpoint, onFirstPage, rescans);
    refuseUnfinished(context, stream, fetched);
    context.emit({ type: 'stream-loading', stream: stream.name, rows: fetched.rows });
    const packing = beginPacking(context, stream, fetched, checkpoint);
    const load = await prepare(fetched, packing);
    const scan = await packing.orAbandon(() => judgeDuplicates(stream, fetched, load));
    if (scan.verdict !== 'drifted' || fetched.verdict === 'drifted') {
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

/**
 * Drops the staged pages when their own data is refused: the source has to mend it, and be asked again. What
 * breaks a contract is kept for one more run, as it may be the contract that is mended.
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

// Only dates a whole day too early count: a timestamp's offset may move it over midnight.
function refuteCursor(
  page: Page,
  path: readonly string[],
  { from = '' }: ScanPlan,
  checkpoint: Checkpoint | undefined,
): void {
  const earliest = new Date(Date.parse(from) - 86_400_000).toISOString().slice(0, 10);
  const earlier = page.records.some(({ value }) => {
    const date = path.reduce<unknown>(
      (part, name) => (part as Record<string, unknown> | null | undefined)?.[name],
      value,
    );
    return typeof date === 'string' && date.slice(0, 10) < earliest;
  });
  const emptied =
    page.total === 0 && (checkpoint?.rowsDeclared ?? 0) > 0 && from <= (checkpoint?.watermark ?? '');
  if (earlier || emptied) throw new CursorRefuted(pathKey(path));
}

function noteOddities({ emit }: RunContext, stream: Stream, scan: FetchedScan, load: PreparedLoad): void {
  const warn = (message: string) => emit({ type: 'warning', stream: stream.name, message });
  if (scan.duplicateMembers > 0)
    warn(`${scan.duplicateMembers} records name a field twice; the last value counts`);
  if ((load.key?.duplicates ?? 0) > 0)
    warn(`${load.key?.duplicates ?? 0} rows have the key of another row; the last one counts`);
  for (const message of load.warnings) warn(message);
}

function statusOf(stream: Stream, checkpoint: Checkpoint | undefined, error: SyncError): StreamStatus {
  if (error.exitCode === 75 || error.exitCode === 130 || error.exitCode === 143) return 'stopped';
  // One that was there before has gone: that is no endpoint this API never had.
  const neverWas = error.code === 'stream_not_found' && !stream.named && checkpoint === undefined;
  return neverWas ? 'unavailable' : 'failed';
}
