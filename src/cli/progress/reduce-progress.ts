import type { ProgressEvent } from '../../model/progress.ts';
import { nameScan } from '../../model/stream.ts';
import { createStreamProgress } from './progress-state.ts';
import type { ProgressState, StreamProgress } from './progress-state.ts';

/** The state after an event that arrived at `nowMs`. */
export function reduceProgress(state: ProgressState, event: ProgressEvent, nowMs: number): ProgressState {
  const timed = countTime(state, nowMs);
  switch (event.type) {
    case 'run-started':
      return { ...timed, streams: event.streams.map(createStreamProgress) };
    case 'stream-started':
      return changeStream(timed, event.stream, () => ({
        ...createStreamProgress(event.stream),
        state: 'reading',
        beganAtActiveMs: timed.activeMs,
      }));
    case 'stream-resumed':
      return changeStream(timed, event.stream, (stream) => ({
        ...stream,
        state: 'reading',
        pagesDone: event.pagesHeld,
        rowsDone: event.rowsHeld,
        rowsHeld: event.rowsHeld,
      }));
    case 'stream-restarted':
      return changeStream(timed, event.stream, (stream) => ({
        ...createStreamProgress(stream.stream),
        state: 'reading',
        beganAtActiveMs: timed.activeMs,
      }));
    case 'page-staged':
      return {
        ...changeStream(timed, event.stream, (stream) => ({
          ...stream,
          state: 'reading',
          pagesDone: event.pagesDone,
          pagesPlanned: event.pagesPlanned,
          rowsDone: event.rowsDone,
          rowsDeclared: event.rowsDeclared,
        })),
        pagesRead: timed.pagesRead + 1,
      };
    case 'stream-loading':
      return changeStream(timed, event.stream, (stream) => ({ ...stream, state: 'loading' }));
    case 'stream-finished':
      return changeStream(timed, nameScan(event.report.stream, event.report.slice), (stream) => ({
        ...stream,
        state: 'finished',
        report: event.report,
      }));
    case 'waiting':
      return {
        ...timed,
        wait: { reason: event.reason, untilMs: event.untilMs, sinceMs: timed.wait?.sinceMs ?? nowMs },
      };
    case 'resumed':
      return { ...timed, wait: undefined };
    case 'quota': {
      const { remaining, limit, resetAtMs, windowMs } = event;
      return { ...timed, quota: { remaining, limit, resetAtMs, windowMs } };
    }
    case 'publishing':
      return { ...timed, publishing: event.path };
    case 'published':
    case 'publish-failed':
      return { ...timed, publishing: undefined };
    case 'reading-finished':
    case 'request-ended':
    case 'stream-committing':
    case 'stream-committed':
    case 'warning':
    case 'note':
      return timed;
    case 'run-finished':
      return { ...timed, wait: undefined, publishing: undefined };
  }
}

// A speed that included an hour of waiting for the quota would predict years.
function countTime(state: ProgressState, nowMs: number): ProgressState {
  const elapsedMs = state.wait === undefined ? Math.max(0, nowMs - state.lastEventAtMs) : 0;
  return { ...state, activeMs: state.activeMs + elapsedMs, lastEventAtMs: nowMs };
}

function changeStream(
  state: ProgressState,
  name: string,
  change: (stream: StreamProgress) => StreamProgress,
): ProgressState {
  const known = state.streams.some(({ stream }) => stream === name);
  const streams = known ? state.streams : [...state.streams, createStreamProgress(name)];
  return { ...state, streams: streams.map((stream) => (stream.stream === name ? change(stream) : stream)) };
}
