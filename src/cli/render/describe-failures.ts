import type { ReportedError, RunReport, StreamReport } from '../../model/run-report.ts';
import { formatCountOf } from './format-values.ts';
import { nameScan } from '../../model/stream.ts';
import { describeEnd, withoutName } from './name-once.ts';
import { toSafeBlock, toSafeLine } from './safe-text.ts';

/** What failed, on what, what is safe and what to do next; '' when nothing did. */
export function describeFailures(report: RunReport): string {
  const failed = report.streams.filter(({ error }) => error !== undefined);
  const blocks = failed.map(describeStream);
  const { error } = report;
  // The run's error often is a stream's: told once.
  const isToldAlready = failed.some((stream) => isSame(stream.error, error));
  if (error !== undefined && !isToldAlready) blocks.push(describe('the run', report.status, error, ''));
  return blocks.join('\n\n');
}

function describeStream(report: StreamReport): string {
  const { stream, slice, status, error } = report;
  if (error === undefined) return '';
  // The message names the stream, which the line begins with.
  const name = nameScan(stream, slice);
  const message = withoutName(withoutName(error.message, name), stream);
  return describe(name, status, slice === '' ? error : { ...error, message }, describeSafe(report));
}

function describe(subject: string, status: string, error: ReportedError, safe: string): string {
  const verb = status === 'stopped' ? 'stopped' : 'failed';
  const lines = [
    toSafeBlock(describeEnd(toSafeLine(subject), verb, error.message)),
    ...(safe === '' ? [] : [`  safe: ${safe}`]),
    `  next: ${toSafeBlock(error.hint)}`,
  ];
  return lines.join('\n');
}

function describeSafe({ pages, rowsInTable, verdict }: StreamReport): string {
  // Its rows are committed, and its pages with them: the hint says what became of them.
  if (verdict === 'drifted') return '';
  const table =
    rowsInTable === undefined || rowsInTable === 0
      ? ''
      : `the ${formatCountOf(rowsInTable, 'row')} of earlier runs are untouched`;
  const kept = pages === 0 ? '' : `${formatCountOf(pages, 'page')} already read are kept`;
  return [table, kept].filter((part) => part !== '').join('; ');
}

function isSame(one: ReportedError | undefined, other: ReportedError | undefined): boolean {
  return one?.code === other?.code && one?.message === other?.message;
}
