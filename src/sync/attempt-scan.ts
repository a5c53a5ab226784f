import { formatCountOf, verbOf } from '../text/format-count.ts';
import type { Page } from '../model/page.ts';
import type { StreamReport } from '../model/run-report.ts';
import { type Checkpoint, sliceIdOf, type Stream } from '../model/stream.ts';
import { countMissingRows } from '../warehouse/missing-rows.ts';
import { discardStage } from '../stage/stage-store.ts';
import { beginPacking, commitAndArchive, type PackedScan } from '../load/archive-scan.ts';
import { refuteByDays, windowOf } from '../load/asked-days.ts';
import { commitScan } from '../load/commit-scan.ts';
import { judgeDuplicates } from '../load/confirm-duplicates.ts';
import { countInApi } from '../load/count-in-api.ts';
import { type EarlyWork, withEarlyWork } from '../load/early-work.ts';
import { countCarried } from '../load/own-values.ts';
import { prepareLoad } from '../load/prepare-load.ts';
import { proveSlice } from '../load/prove-slice.ts';
import { refuseRemaskedKey } from '../load/rehashed-key.ts';
import { refuteByCounts, refuteByError, refuteByPage, refuteByRows } from '../load/read-in-full.ts';
import { describeDrift, refusePartOfKeyless, refuseUnfinished } from '../load/refuse-scan.ts';
import { describeStaleness } from '../read/describe-staleness.ts';
import { fetchScan } from '../read/fetch-scan.ts';
import { watchHead } from '../read/skip-unchanged.ts';
import { reportStream, type SaveRun, type Started } from '../run/report-stream.ts';
import type { RunContext } from '../run/run-context.ts';
import type { CommittedScan, FetchedScan, PreparedLoad } from '../run/scan.ts';
import { type FullRefresh, type JudgeFirstPage, MAX_RESCANS, type Step } from '../run/step.ts';
import { beginTurn, type LoadedScan, type Turn } from '../run/turn.ts';
import { refuseMisspelledNames, refuseUnseenKey } from '../storage/unseen-names.ts';
import { keepRefused } from './keep-refused.ts';
import type { Attempt } from './next-attempt.ts';

/** Reads, prepares and commits one scan. */
export async function attemptScan(
  context: RunContext,
  attempt: Attempt,
  started: Started,
  saveRun: SaveRun,
): Promise<Step<StreamReport>> {
  const turn = await beginTurn(context, attempt);
  await refuseRemaskedKey(context, turn);
  const { stream, checkpoint, learned } = turn;
  const question = { stream, hashKey: context.settings.hashKey, checkpoint, learned };
  try {
    return await withEarlyWork(context, question, async (early) => {
      const read = await readAndPrepare(context, turn, attempt.rescans, early);
      if ('instead' in read) return read;
      const step = await commit(context, turn, read.done, { started, saveRun });
      if ('done' in step) await discardStage(turn.stage);
      return step;
    });
  } catch (thrown) {
    const instead = refuteByError(attempt, context.options, thrown);
    if (instead === undefined) throw thrown;
    return { instead };
  }
}

/** Reads a scan and prepares its rows. */
async function readAndPrepare(
  context: RunContext,
  turn: Turn,
  rescans: number,
  early: EarlyWork,
): Promise<Step<PackedScan>> {
  const { stream } = turn;
  const judgeFirstPage = await judgeHeads(context, turn, rescans);
  const readPages = () => fetchScan(context, turn, { judgeFirstPage, rescans, follower: early });
  const read = await (context.meanwhile?.during(early, readPages) ?? readPages());
  if ('instead' in read) return read;
  const fetched = read.done;
  refuseUnfinished(context, stream, fetched);
  const refuted = refuteByCounts(stream, fetched);
  if (refuted !== undefined) return { instead: refuted };
  context.emit({ type: 'stream-loading', stream: stream.name, rows: fetched.rows });
  const packing = beginPacking(context, turn, fetched, early.takePack());
  const prepare = (scan: FetchedScan) =>
    keepRefused(turn, () => packing.during(() => prepareLoad(context, turn, scan, early)));
  const carried = countCarried(stream, fetched.tree);
  const loaded = await packing.during(async (): Promise<Step<LoadedScan>> => {
    const prepared = await prepare(fetched);
    if ('instead' in prepared) return prepared;
    const load = prepared.done;
    const instead = refuteByDays(fetched, load) ?? (await tryCursor(context, stream, fetched, load));
    if (instead !== undefined) return { instead };
    const judged = await judgeDuplicates(stream, fetched, load);
    const hasMoved = moved(judged, fetched);
    if (hasMoved && rescans < MAX_RESCANS)
      return { instead: { kind: 'moved', because: judged.reasons[0] ?? '' } };
    const { checkpoint } = turn;
    const scan = await proveSlice(context, { stream, scan: judged, load, checkpoint, carried });
    if (!hasMoved) return { done: { scan, load: noteStaleness(scan, load, checkpoint) } };
    // No key is learned from the rows of a scan whose data moved.
    const again = await prepare(scan);
    return 'instead' in again ? again : { done: { scan, load: again.done } };
  });
  if ('instead' in loaded) return loaded;
  return { done: { ...loaded.done, packing } };
}

function noteStaleness(
  scan: FetchedScan,
  load: PreparedLoad,
  checkpoint: Checkpoint | undefined,
): PreparedLoad {
  const stale = describeStaleness(scan, load, checkpoint);
  return stale === undefined ? load : { ...load, notes: [...load.notes, stale] };
}

/** What the first page of a scan may show. */
async function judgeHeads(context: RunContext, turn: Turn, rescans: number): Promise<JudgeFirstPage> {
  const { stream, plan, checkpoint, learned } = turn;
  const cursorPath = learned.find(({ name }) => name === checkpoint?.cursorField)?.path;
  // A restarted scan has seen the data move.
  const lookAtHead = rescans === 0 ? await watchHead(context, turn) : undefined;
  const isKeyless = stream.key.kind !== 'fields' && checkpoint?.keyFields === undefined;
  const mayRefute = plan.trial || (plan.mode === 'incremental' && isKeyless);
  return (page: Page) => {
    const unchanged = lookAtHead?.(page);
    if (unchanged !== undefined) return unchanged;
    (checkpoint === undefined ? refuseMisspelledNames : refuseUnseenKey)(stream, page);
    return mayRefute && cursorPath !== undefined ? refuteByPage(turn, page, cursorPath) : undefined;
  };
}

/** Whether rows returned twice showed a move that the pages did not. */
function moved(judged: FetchedScan, fetched: FetchedScan): boolean {
  return judged.verdict === 'drifted' && fetched.verdict !== 'drifted';
}

/** Compares a trial's rows with the table's. */
async function tryCursor(
  { database }: RunContext,
  stream: Stream,
  scan: FetchedScan,
  load: PreparedLoad,
): Promise<FullRefresh | undefined> {
  const window = windowOf(scan, load);
  // A part of the rows, as --limit reads, proves nothing.
  const isWhole = scan.verdict !== 'partial' && scan.rows > 0;
  if (!scan.plan.trial || !load.tableExisted || !isWhole || window === undefined) return undefined;
  const { held, missing } = await countMissingRows(database, stream.table, sliceIdOf(stream), window);
  // Records in quarantine came as well, and may be versions of these rows.
  const unexplained = { held, missing: Math.max(0, missing - load.rejected.count) };
  return refuteByRows(stream, unexplained, load.key === undefined || stream.deletes !== 'keep');
}

/** What the report of a commit needs. */
interface Reporting {
  readonly started: Started;
  readonly saveRun: SaveRun;
}

/** Counts the API's rows and commits. */
async function commit(
  context: RunContext,
  turn: Turn,
  { load, packing, ...read }: PackedScan,
  { started, saveRun }: Reporting,
): Promise<Step<StreamReport>> {
  const { stream, plan, checkpoint } = turn;
  const counting = async () => ({ done: await countInApi(context, stream, read.scan, load) });
  const counted = await packing.during(counting);
  if ('instead' in counted) return counted;
  const scan = counted.done;
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
  const store = async (): Promise<Step<StreamReport>> => {
    if (load.key === undefined && load.tableExisted) refusePartOfKeyless(stream, scan, checkpoint);
    return commitAndArchive(context, turn, { scan, load, packing }, (stopped, corrected, again) =>
      commitScan(stopped, corrected, { scan: again, load }, { describe, saveRun }),
    );
  };
  const step = await keepRefused(turn, () => packing.during(store));
  if ('done' in step) noteOddities(context, stream, scan, load);
  return step;
}

/** Says what a commit came with: of one that was refused, nothing went to the table or to quarantine. */
function noteOddities({ emit }: RunContext, stream: Stream, scan: FetchedScan, load: PreparedLoad): void {
  for (const message of load.notes) emit({ type: 'note', stream: stream.name, message });
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
