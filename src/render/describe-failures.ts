import type { ReportedError, RunReport, StreamReport } from '../model/run-report.ts';
import { formatCountOf, verbOf } from '../text/format-count.ts';
import { nameScan } from '../model/stream.ts';
import { describeEnd, withoutName } from '../text/name-once.ts';
import { toSafeBlock, toSafeLine } from './safe-text.ts';

/** What failed, on what, what is safe and what to do next; '' when nothing did. */
export function describeFailures(report: RunReport): string {
  const failed = report.streams.filter(({ error }) => error !== undefined);
  const blocks = failed.map(describeStream);
  const { error } = report;
  // The run's error is often a stream's: reported once.
  const isReportedAlready = failed.some((stream) => isSame(stream.error, error));
  if (error !== undefined && !isReportedAlready)
    blocks.push(describeError('the run', report.status, error, ''));
  return blocks.join('\n\n');
}

function describeStream(report: StreamReport): string {
  const { status, error } = report;
  return error === undefined ? '' : describeStreamError(report, status, error, describeSafe(report));
}

/** Why a stream failed or stopped, what is safe ('' for nothing to say) and what to do next. */
export function describeStreamError(
  { stream, slice }: Pick<StreamReport, 'stream' | 'slice'>,
  status: string,
  error: ReportedError,
  safe: string,
): string {
  // The message names the stream, which the line begins with.
  const name = nameScan(stream, slice);
  const message = withoutName(withoutName(error.message, name), stream);
  return describeError(name, status, slice === '' ? error : { ...error, message }, safe);
}

/** The same for anything that failed or was stopped. */
export function describeError(subject: string, status: string, error: ReportedError, safe: string): string {
  const verb = status === 'stopped' ? 'stopped' : 'failed';
  const lines = [
    toSafeBlock(describeEnd(toSafeLine(subject), verb, error.message)),
    ...(safe === '' ? [] : [`  safe: ${safe}`]),
    `  next: ${toSafeBlock(error.hint)}`,
  ];
  return lines.join('\n');
}

function describeSafe({ pages, rowsInTable, verdict }: StreamReport): string {
  // Its rows and pages are committed; the hint says what happened to them.
  if (verdict === 'drifted') return '';
  const table =
    rowsInTable === undefined || rowsInTable === 0
      ? ''
      : `the ${formatCountOf(rowsInTable, 'row')} of earlier runs ${verbOf(rowsInTable, 'is', 'are')} untouched`;
  const kept =
    pages === 0 ? '' : `${formatCountOf(pages, 'page')} already read ${pages === 1 ? 'is' : 'are'} kept`;
  return [table, kept].filter((part) => part !== '').join('; ');
}

/** The error of a whole command and what to do next, if none of its streams says it already. */
export function describeOwnError(
  error: ReportedError | undefined,
  streams: readonly { readonly error?: ReportedError | undefined }[],
): readonly string[] {
  if (error === undefined || streams.some((stream) => isSame(stream.error, error))) return [];
  return [`${toSafeBlock(error.message)}\n  next: ${toSafeBlock(error.hint)}`];
}

/** Whether two errors say the same. */
export function isSame(one: ReportedError | undefined, other: ReportedError | undefined): boolean {
  return one?.code === other?.code && one?.message === other?.message;
}
