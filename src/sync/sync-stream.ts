import { existsSync } from 'node:fs';
import { toAbortError } from '../model/abort.ts';
import { type SyncError, toSyncError } from '../model/errors.ts';
import type { StreamReport, StreamStatus } from '../model/run-report.ts';
import { type Checkpoint, mayBeUnavailable, nameOf, sliceIdOf, type Stream } from '../model/stream.ts';
import { preferStagedFullScan } from '../read/staged-full-scan.ts';
import { stageFolder } from '../storage/state-folder.ts';
import { hintOfStream } from '../text/what-is-safe.ts';
import { reportUnmoved } from '../read/skip-unchanged.ts';
import { reportStream, type SaveRun, type StagedSoFar, type Started } from '../run/report-stream.ts';
import type { RunContext } from '../run/run-context.ts';
import type { PlannedScan } from '../run/turn.ts';
import { attemptScan } from './attempt-scan.ts';
import { type Attempt, nextAttempt } from './next-attempt.ts';
import { assertProved } from './settle-identity.ts';

/** What a stream's sync led to; the error is for the run to act on (see `recovery`). */
export interface StreamOutcome {
  readonly report: StreamReport;
  readonly error: SyncError | undefined;
  readonly committed: boolean;
}

/** Syncs one stream: fetch, load, one commit. Never throws: what failed is in the outcome. */
export async function syncStream(
  context: RunContext,
  planned: PlannedScan,
  started: Started,
  saveRun: SaveRun,
): Promise<StreamOutcome> {
  const { stream, plan, checkpoint } = planned;
  // The last page event shows what a stopped stream has staged. A document leaves nothing.
  let staged: StagedSoFar | undefined;
  let { mode } = plan;
  const watched: RunContext = {
    ...context,
    emit(event) {
      if (event.type === 'stream-started') mode = event.mode;
      if (event.type === 'page-staged' && stream.paginated)
        staged = { pages: event.pagesDone, total: event.rowsDeclared };
      // A slice is shown next to the others of its stream.
      context.emit(
        'stream' in event && event.stream !== undefined ? { ...event, stream: nameOf(stream) } : event,
      );
    },
  };
  try {
    await assertProved(context, stream);
    const { report, committed } = await attemptUntilDone(watched, planned, started, saveRun);
    context.emit({ type: 'stream-finished', report });
    return { report, error: undefined, committed };
  } catch (thrown) {
    const found = toStreamError(context, thrown);
    const safe = { slice: sliceIdOf(stream), wasCommitted: checkpoint !== undefined };
    const error = found.withHint(hintOfStream(found.hint, safe));
    const report = reportStream(context, stream, started, {
      status: statusOf(stream, checkpoint, error),
      mode,
      verdict: 'partial',
      ...(staged === undefined ? {} : { staged: countKept(context, stream, staged) }),
      checkpoint,
      error,
    });
    context.emit({ type: 'stream-finished', report });
    return { report, error, committed: false };
  }
}

/** Pages that are refused may have been dropped: then none is kept. */
function countKept({ settings, options }: RunContext, stream: Stream, staged: StagedSoFar): StagedSoFar {
  return existsSync(stageFolder(settings.stateDir, stream, options)) ? staged : { ...staged, pages: 0 };
}

/** The only loop over attempts: each is done, or says what must take its place. */
async function attemptUntilDone(
  context: RunContext,
  planned: PlannedScan,
  started: Started,
  saveRun: SaveRun,
): Promise<Pick<StreamOutcome, 'report' | 'committed'>> {
  const { stream } = planned;
  let attempt: Attempt = { ...planned, plan: await preferStagedFullScan(context, planned), rescans: 0 };
  announce(context, attempt);
  for (;;) {
    const step = await attemptScan(context, attempt, started, saveRun);
    if ('done' in step) return { report: step.done, committed: true };
    const next = nextAttempt(planned, attempt, step.instead);
    if (next.kind === 'end')
      return { report: await reportUnmoved(context, planned, started, next.because), committed: false };
    ({ attempt } = next);
    if (next.kind === 'restart') {
      context.emit({ type: 'stream-restarted', stream: stream.name, reason: next.because });
      continue;
    }
    if (next.because !== undefined)
      context.emit({ type: 'note', stream: stream.name, message: next.because });
    announce(context, attempt);
  }
}

function announce({ emit }: RunContext, { stream, plan }: PlannedScan): void {
  for (const message of plan.warnings) emit({ type: 'warning', stream: stream.name, message });
  emit({
    type: 'stream-started',
    stream: stream.name,
    mode: plan.mode,
    ...(plan.from === undefined ? {} : { from: plan.from }),
  });
}

/** A stop that interrupts a statement is the stop that was asked for. */
function toStreamError({ signal }: RunContext, thrown: unknown): SyncError {
  const error = toSyncError(thrown);
  return error.code === 'aborted' && signal?.aborted === true ? toAbortError(signal) : error;
}

function statusOf(stream: Stream, checkpoint: Checkpoint | undefined, error: SyncError): StreamStatus {
  if (error.exitCode === 75 || error.exitCode === 130 || error.exitCode === 143) return 'stopped';
  const neverWas = error.code === 'stream_not_found' && mayBeUnavailable(stream, checkpoint);
  return neverWas ? 'unavailable' : 'failed';
}
