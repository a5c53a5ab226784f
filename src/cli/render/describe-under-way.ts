import { formatCount } from '../../text/format-count.ts';
import type { RunUnderWay, StreamUnderWay } from '../../model/run-under-way.ts';
import { describeWait } from './describe-wait.ts';
import { toSafeLine } from './safe-text.ts';

/** The progress of a run: a line per stream, and what it waits for. */
export function describeUnderWay(run: RunUnderWay | undefined, nowMs: number): string {
  if (run === undefined) return '';
  const { waiting } = run;
  const lines = run.streams.map((stream) => `  ${toSafeLine(stream.stream)}: ${describeStream(stream)}`);
  if (waiting !== undefined)
    lines.push(`  ${describeWait(waiting.reason, Date.parse(waiting.until), nowMs)}`);
  return lines.join('\n');
}

function describeStream({ state, pagesDone, pagesPlanned, rowsDone, rowsDeclared }: StreamUnderWay): string {
  if (state === 'queued' || state === 'finished') return state;
  const pages = `${formatCount(pagesDone)}${ofAll(pagesPlanned)} pages`;
  return `${state}, ${pages}, ${formatCount(rowsDone)}${ofAll(rowsDeclared)} rows`;
}

function ofAll(count: number | undefined): string {
  return count === undefined ? '' : ` of ${formatCount(count)}`;
}
