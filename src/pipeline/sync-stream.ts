import { readContract } from '../../state/checkpoints.ts';
import { ResponseError, type SyncError, toSyncError } from '../model/errors.ts';
import type { Page } from '../model/page.ts';
import type { StreamReport, StreamStatus } from '../model/run-report.ts';
import type { Checkpoint, Stream } from '../model/stream.ts';
import { pathKey } from '../schema/name-columns.ts';
import { tableName } from '../warehouse/evolve-table.ts';
import { discardStage } from '../warehouse/stage-store.ts';
import { commitScan } from './commit-scan.ts';
import { recordsStillThere } from './confirm-duplicates.ts';
import { fetchScan } from './fetch-scan.ts';
import { stageFolder } from './state-folder.ts';
import { planStream } from './plan-scan.ts';
import { KeyBroken, prepareLoad } from './prepare-load.ts';
import { describeDrift, refusePartOfKeyless, refuseUnfinished } from './refuse-scan.ts';
import { reportStream, type StagedSoFar, type Started } from './report-stream.ts';
import type { RunContext } from './run-context.ts';
import type { CommittedScan, FetchedScan, PreparedLoad, ScanPlan } from './scan.ts';

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
      rowsInTable: await context.database
        .count(`SELECT count(*) FROM ${tableName(stream.table)}`)
        .catch(() => undefined),
      checkpoint,
    });
    context.emit({ type: 'stream-finished', report });
    return { report, error: undefined, committed: false };
  }
  // What a stream that stops half-way has staged, its last page event tells.
  let staged: StagedSoFar | undefined;
  const watched: RunContext = {
    ...context,
    emit(event) {
      if (event.type === 'page-staged') staged = { pages: event.pagesDone, total: event.rowsDeclared };
      context.emit(event);
    },
  };
  try {
    const report = await scanAndCommit(watched, stream, plan.scan, checkpoint, started, saveRun);
    context.emit({ type: 'stream-finished', report });
    return { report, error: undefined, committed: true };
  } catch (thrown) {
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
  const fetched = await fetchScan(context, stream, plan, checkpoint, (page) => {
    if (plan.trial && cursorPath !== undefined) refuteCursor(page, cursorPath, plan, checkpoint);
  });
  refuseUnfinished(context, stream, fetched);
  emit({ type: 'stream-loading', stream: stream.name, rows: fetched.rows });
  const folder = stageFolder(settings.stateDir, stream, context.options);
  const load = await discardIfRefused(folder, () =>
    prepareLoad(context, stream, fetched, checkpoint, contract),
  );
  for (const message of load.notes) emit({ type: 'note', stream: stream.name, message });
  const scan = await judgeDuplicates(stream, fetched, load);
  noteOddities(context, stream, scan, load);

  const describe = (committed: CommittedScan): StreamReport => {
    const drift = scan.verdict === 'drifted' ? describeDrift(stream, scan, true) : undefined;
    return reportStream(context, stream, started, {
      status: drift === undefined ? 'complete' : 'failed',
      mode: plan.mode,
      verdict: scan.verdict,
      reasons: [...scan.reasons, ...load.notes, ...describeKept(scan, committed)],
      scan,
      committed,
      checkpoint: committed.checkpoint,
      error: drift,
    });
  };
  const report = await discardIfRefused(folder, async () => {
    if (load.key === undefined && load.tableExisted) refusePartOfKeyless(stream, scan, checkpoint);
    return commitScan(context, stream, scan, load, checkpoint, describe, saveRun);
  });
  await discardStage(folder);
  return report;
}

/** Drops the staged pages when their own data is refused: the source has to mend it, and be asked again. */
async function discardIfRefused<T>(folder: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (thrown) {
    if (thrown instanceof ResponseError) await discardStage(folder);
    throw thrown;
  }
}

/** Rows the API no longer has stay in the table; that they are there must not go unsaid. */
function describeKept(scan: FetchedScan, { rowsInTable }: CommittedScan): readonly string[] {
  const kept = rowsInTable - (scan.total ?? rowsInTable);
  if (scan.verdict !== 'verified' || scan.plan.mode !== 'full' || kept <= 0) return [];
  return [`${kept} rows of the table no longer come from the API; they are kept`];
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

/** Duplicates of a configured key that are still where they were belong to the source; else the pages moved. */
async function judgeDuplicates(stream: Stream, scan: FetchedScan, load: PreparedLoad): Promise<FetchedScan> {
  const { duplicates = 0, duplicatePositions = [] } = load.key ?? {};
  if (duplicates === 0 || !stream.paginated || scan.verdict === 'drifted') return scan;
  if (await recordsStillThere(scan.recordsFile, duplicatePositions, scan.askAgain)) return scan;
  return {
    ...scan,
    verdict: 'drifted',
    reasons: [...scan.reasons, `${duplicates} keys came twice, and not where they had been`],
  };
}

function noteOddities({ emit }: RunContext, stream: Stream, scan: FetchedScan, load: PreparedLoad): void {
  const warn = (message: string) => emit({ type: 'warning', stream: stream.name, message });
  if (scan.duplicateMembers > 0)
    warn(`${scan.duplicateMembers} records name a field twice; the last value counts`);
  if ((load.key?.duplicates ?? 0) > 0)
    warn(`${load.key?.duplicates ?? 0} rows have the key of another row; the last one counts`);
  if (load.rejected.length > 0)
    warn(`${load.rejected.length} records are no JSON objects and went to _sluice.quarantine`);
}

function statusOf(stream: Stream, checkpoint: Checkpoint | undefined, error: SyncError): StreamStatus {
  if (error.exitCode === 75 || error.exitCode === 130 || error.exitCode === 143) return 'stopped';
  // One that was there before has gone: that is no endpoint this API never had.
  const neverWas = error.code === 'stream_not_found' && !stream.named && checkpoint === undefined;
  return neverWas ? 'unavailable' : 'failed';
}
