import { removeProgressFile, writeProgressFile } from '../../state/progress-file.ts';
import type { Clock } from '../model/clock.ts';
import type { ProgressEvent } from '../model/progress.ts';
import type { RunObserver } from '../model/run-observer.ts';
import { nameScan } from '../model/stream.ts';
import type { RunUnderWay, StreamUnderWay } from '../model/run-under-way.ts';

/** Minimum time between progress updates in the state folder, ms. */
const TOLD_EVERY_MS = 1_000;
/** Shorter waits are normal pacing. */
const LONG_WAIT_MS = 2_000;

/** Records the run's progress in the state folder, for `status` in another terminal. */
export function keepProgress(
  stateDir: string,
  { runId, clock }: { readonly runId: string; readonly clock: Clock },
): RunObserver {
  let run: Progress = { runId, requests: 0, streams: [], waiting: undefined, quota: undefined };
  let toldAtMs = clock.monotonic();
  let isTold = false;
  const onEvent = (event: ProgressEvent) => {
    run = followProgress(run, event);
    const nowMs = clock.monotonic();
    const isLongWait = event.type === 'waiting' && event.untilMs - clock.now() >= LONG_WAIT_MS;
    // The last page before a long wait is staged after the wait started, and no further event follows for a while.
    const isLastPage = event.type === 'page-staged' && run.waiting !== undefined;
    if (event.type === 'run-finished') {
      if (isTold) removeProgressFile(stateDir);
    } else if (isLongWait || isLastPage || event.type === 'resumed' || nowMs - toldAtMs >= TOLD_EVERY_MS) {
      writeProgressFile(stateDir, { ...run, toldAt: new Date(clock.now()).toISOString() });
      toldAtMs = nowMs;
      isTold = true;
    }
  };
  return { name: 'the progress file', onEvent };
}

type Progress = Omit<RunUnderWay, 'toldAt'>;

function followProgress(run: Progress, event: ProgressEvent): Progress {
  switch (event.type) {
    case 'run-started':
      return { ...run, streams: event.streams.map(toQueued) };
    case 'stream-started':
    case 'stream-restarted':
      return change(run, event.stream, () => ({ ...toQueued(event.stream), state: 'reading' }));
    case 'stream-resumed':
      return change(run, event.stream, (stream) => ({
        ...stream,
        pagesDone: event.pagesHeld,
        rowsDone: event.rowsHeld,
      }));
    case 'page-staged': {
      const { pagesDone, pagesPlanned, rowsDone, rowsDeclared } = event;
      const read = { state: 'reading', pagesDone, pagesPlanned, rowsDone, rowsDeclared } as const;
      return change(run, event.stream, (stream) => ({ ...stream, ...read }));
    }
    case 'stream-loading':
      return change(run, event.stream, (stream) => ({ ...stream, state: 'loading' }));
    case 'stream-finished': {
      const { stream, slice } = event.report;
      return change(run, nameScan(stream, slice), (known) => ({ ...known, state: 'finished' }));
    }
    case 'waiting':
      return { ...run, waiting: { reason: event.reason, until: new Date(event.untilMs).toISOString() } };
    case 'resumed':
      return { ...run, waiting: undefined };
    case 'request-ended':
      return { ...run, requests: run.requests + 1 };
    case 'quota': {
      const { remaining, limit, resetAtMs } = event;
      return { ...run, quota: { remaining, limit, resetAtMs } };
    }
    default:
      return run;
  }
}

function toQueued(stream: string): StreamUnderWay {
  const pages = { pagesDone: 0, pagesPlanned: undefined };
  return { stream, state: 'queued', ...pages, rowsDone: 0, rowsDeclared: undefined };
}

function change(run: Progress, name: string, to: (stream: StreamUnderWay) => StreamUnderWay): Progress {
  return { ...run, streams: run.streams.map((stream) => (stream.stream === name ? to(stream) : stream)) };
}
