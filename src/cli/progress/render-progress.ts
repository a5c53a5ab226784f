import { formatDuration } from '../../text/duration.ts';
import { HOUR_MS } from '../../model/dates.ts';
import { toSafeLine } from '../../render/safe-text.ts';
import { formatCount, formatCountOf } from '../../text/format-count.ts';
import { formatUpcoming } from '../../render/format-values.ts';
import { cutToWidth } from '../../render/measure-width.ts';
import { describeWait, SHORT_WAIT_MS } from '../../render/describe-wait.ts';
import type { ProgressState } from './progress-state.ts';
import type { RenderOptions } from './render-options.ts';
import { renderStream } from './render-stream.ts';

// Before this, the measured speed reflects the start of the connection more than the run.
const LEAST_ACTIVE_MS = 500;

/** Draws a run: a line per stream, the quota, and what it waits for. No line is wider than `columns`. */
export function renderProgress(state: ProgressState, options: RenderOptions): string {
  const nameWidth = Math.max(0, ...state.streams.map(({ stream }) => stream.length));
  const lines = state.streams.map((stream) => renderStream(stream, state, nameWidth, options));
  const footer = [describeQuota(state, options), describeNow(state, options)].filter((line) => line !== '');
  const ellipsis = options.hasUnicode ? '…' : '...';
  return [
    ...lines,
    ...footer.map((line) => options.paint('dim', cutToWidth(line, options.columns, ellipsis))),
  ].join('\n');
}

function describeQuota(state: ProgressState, { nowMs, columns }: RenderOptions): string {
  const { quota } = state;
  const parts: string[] = [];
  if (quota !== undefined) {
    const left = `${formatCount(quota.remaining)} of ${formatCountOf(quota.limit, 'request')} left`;
    const until = ` until ${formatUpcoming(quota.resetAtMs, nowMs)}`;
    parts.push(columns < 60 ? left : left + until);
  }
  const finish = estimateFinish(state, nowMs);
  if (finish !== undefined && finish.leftMs >= 1_000) {
    parts.push(`${finish.isWhole ? 'about' : 'at least'} ${formatDuration(finish.leftMs)} to go`);
  }
  return parts.join(', ');
}

function describeNow(state: ProgressState, { nowMs }: RenderOptions): string {
  const { wait, publishing } = state;
  if (wait !== undefined && wait.untilMs - wait.sinceMs >= SHORT_WAIT_MS) {
    return describeWait(wait.reason, wait.untilMs, nowMs);
  }
  return publishing === undefined ? '' : `publishing ${toSafeLine(publishing)}`;
}

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
