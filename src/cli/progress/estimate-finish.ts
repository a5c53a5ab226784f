import type { ProgressState } from './progress-state.ts';

const HOUR_MS = 3_600_000;
// Before this, the measured speed reflects the start of the connection more than the run.
const LEAST_ACTIVE_MS = 500;

/** How much longer the run takes. */
export interface FinishEstimate {
  readonly leftMs: number;
  /** False while streams are queued whose size is not known yet: then it is a lower bound. */
  readonly isWhole: boolean;
}

/** Predicts the end from the speed so far and from the windows of the quota that the remaining pages need. */
export function estimateFinish(state: ProgressState, nowMs: number): FinishEstimate | undefined {
  const unfinished = state.streams.filter((stream) => stream.state !== 'finished');
  const sized = unfinished.filter((stream) => stream.pagesPlanned !== undefined);
  if (sized.length === 0 || state.pagesRead === 0 || state.activeMs < LEAST_ACTIVE_MS) return undefined;
  const pagesLeft = sized.reduce(
    (sum, stream) => sum + Math.max(0, (stream.pagesPlanned ?? 0) - stream.pagesDone),
    0,
  );
  const msPerPage = state.activeMs / state.pagesRead;
  return {
    leftMs: addWindows(state, pagesLeft, msPerPage, nowMs),
    isWhole: sized.length === unfinished.length,
  };
}

function addWindows(state: ProgressState, pagesLeft: number, msPerPage: number, nowMs: number): number {
  const { quota } = state;
  if (quota === undefined || pagesLeft <= quota.remaining) return pagesLeft * msPerPage;
  const untilReset = Math.max(0, quota.resetAtMs - nowMs);
  const afterReset = pagesLeft - quota.remaining;
  const fullWindows = Math.max(0, Math.ceil(afterReset / Math.max(1, quota.limit)) - 1);
  const inLastWindow = afterReset - fullWindows * quota.limit;
  return untilReset + fullWindows * (quota.windowMs ?? HOUR_MS) + inLastWindow * msPerPage;
}
