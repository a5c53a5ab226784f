import type { StatusReport, StreamStatusRow } from '../model/reports.ts';
import { isUnfinished } from '../model/run-report.ts';
import { nameScan } from '../model/stream.ts';
import { describeError, describeStreamError, isSame } from './describe-failures.ts';
import { formatCountOf } from '../text/format-count.ts';
import { toSafeLine } from './safe-text.ts';

const MOST_STREAMS = 5;
const MOST_RUNS = 3;

/**
 * Failed or stopped last attempts, and the error of the last run: why, what to do next, where to read more.
 */
export function describeUnsettled({ streams, lastRun }: StatusReport): string {
  const unsettled = streams.filter((row) => row.unsettled !== undefined);
  const more = unsettled.length - MOST_STREAMS;
  const isTold = unsettled.some(
    ({ unsettled: last }) => last?.runId === lastRun?.runId && isSame(last?.error, lastRun?.error),
  );
  const blocks = [
    ...unsettled.slice(0, MOST_STREAMS).map(describeAttempt),
    ...(more > 0 ? [`${formatCountOf(more, 'more stream')} did not end well.`] : []),
    ...(lastRun?.error === undefined || isTold
      ? []
      : [describeError('the last run', lastRun.status, lastRun.error, '')]),
  ];
  return [...blocks, describeRuns(unsettled, lastRun)].filter((block) => block !== '').join('\n');
}

function describeAttempt(row: StreamStatusRow): string {
  const { status = 'failed', error } = row.unsettled ?? {};
  return error === undefined
    ? `${toSafeLine(nameScan(row.stream, row.slice))} ${status}`
    : describeStreamError(row, status, error, '');
}

/** The runs to look at, the last one first. */
function describeRuns(unsettled: readonly StreamStatusRow[], lastRun: StatusReport['lastRun']): string {
  const isWell = lastRun === undefined || lastRun.status === 'complete' || isUnfinished(lastRun.status);
  const ids = [
    ...(isWell ? [] : [lastRun.runId]),
    ...unsettled.flatMap(({ unsettled: last }) => last?.runId ?? []),
  ];
  const shown = [...new Set(ids)].slice(0, MOST_RUNS);
  return shown.length === 0 ? '' : `See: ${shown.map((id) => `sluice runs ${toSafeLine(id)}`).join(', ')}`;
}
