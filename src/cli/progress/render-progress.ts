import { formatDuration } from '../../text/duration.ts';
import { toSafeLine } from '../render/safe-text.ts';
import { formatCount } from '../../text/format-count.ts';
import { formatUpcoming } from '../render/format-values.ts';
import { cutToWidth } from '../render/measure-width.ts';
import { describeWait, SHORT_WAIT_MS } from '../render/describe-wait.ts';
import { estimateFinish } from './estimate-finish.ts';
import type { ProgressState } from './progress-state.ts';
import type { RenderOptions } from './render-options.ts';
import { renderStream } from './render-stream.ts';

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
    const left = `${formatCount(quota.remaining)} of ${formatCount(quota.limit)} requests left`;
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
