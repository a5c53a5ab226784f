import { formatDuration } from '../../text/duration.ts';
import type { ProgressEvent } from '../../model/progress.ts';
import type { StreamReport } from '../../model/run-report.ts';
import { nameScan } from '../../model/stream.ts';
import { formatCount, formatCountOf, verbOf } from '../../text/format-count.ts';
import { formatBytes } from '../../text/format-bytes.ts';
import { withName } from '../../text/name-once.ts';
import { describeWait } from '../../render/describe-wait.ts';
import type { ProgressState } from './progress-state.ts';

/** A line of the log, with its values for machines. */
export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The log line of an event; `before` is the state it arrived in. Undefined where no line is due. */
export function describeEvent(
  event: ProgressEvent,
  before: ProgressState,
  nowMs: number,
): LogLine | undefined {
  switch (event.type) {
    case 'run-started':
      return info(`run ${event.runId}: ${formatCountOf(event.streams.length, 'stream')}`, event);
    case 'stream-started':
      return info(`${event.stream}: reading ${describeMode(event.mode, event.from)}`, event);
    case 'stream-resumed':
      return info(
        `${event.stream}: resuming after ${formatCountOf(event.pagesHeld, 'page')} ` +
          `(${formatCountOf(event.rowsHeld, 'row')}) kept by an earlier run`,
        event,
      );
    case 'stream-restarted':
      return { level: 'warn', message: `${event.stream}: restarted: ${event.reason}`, fields: event };
    case 'page-staged':
      return info(`${event.stream}: ${describePages(event)}`, event);
    case 'stream-loading':
      return info(`${event.stream}: loading ${formatCountOf(event.rows, 'row')}`, event);
    case 'stream-finished':
      return describeFinished(event.report);
    case 'waiting':
      return info(describeWait(event.reason, event.untilMs, nowMs), event);
    case 'resumed':
      // A stop ends a wait as well.
      return info(`waited ${formatDuration(nowMs - (before.wait?.sinceMs ?? nowMs))}`, event);
    case 'quota':
      return {
        level: 'debug',
        message: `quota: ${formatCount(event.remaining)} of ${formatCount(event.limit)} left`,
        fields: event,
      };
    case 'warning':
    case 'note': {
      const level = event.type === 'warning' ? 'warn' : 'info';
      const message = event.stream === undefined ? event.message : withName(event.message, event.stream);
      return { level, message, fields: event };
    }
    case 'reading-finished':
    case 'request-ended':
    case 'stream-committing':
    case 'stream-committed':
    case 'publish-failed':
      return undefined;
    case 'publishing':
      return info(`publishing ${event.path}`, event);
    case 'published':
      return info(
        `published ${event.path}${event.bytes === 0 ? '' : ` (${formatBytes(event.bytes)})`}`,
        event,
      );
    case 'run-finished': {
      const { runId, status, exitCode, requests, waitedMs } = event.report;
      return info(`run ${runId}: ${status}`, {
        type: event.type,
        runId,
        status,
        exitCode,
        requests,
        waitedMs,
      });
    }
  }
}

function describeMode(mode: 'full' | 'incremental', from: string | undefined): string {
  if (mode === 'full') return 'in full';
  return from === undefined ? 'what is new' : `what is new from ${from}`;
}

function describePages(event: ProgressEvent & { type: 'page-staged' }): string {
  const pages = formatCount(event.pagesDone);
  const rows = formatCount(event.rowsDone);
  const ofPages = event.pagesPlanned === undefined ? '' : ` of ${formatCount(event.pagesPlanned)}`;
  const noun = (event.pagesPlanned ?? event.pagesDone) === 1 ? 'page' : 'pages';
  const ofRows = event.rowsDeclared === undefined ? '' : ` of ${formatCount(event.rowsDeclared)}`;
  const rowNoun = verbOf(event.rowsDeclared ?? event.rowsDone, 'row', 'rows');
  return `${pages}${ofPages} ${noun}, ${rows}${ofRows} ${rowNoun}`;
}

function describeFinished(report: StreamReport): LogLine {
  const { slice, status, verdict, rows, requests, error } = report;
  const stream = nameScan(report.stream, slice);
  const fields = {
    type: 'stream-finished',
    stream: report.stream,
    ...(slice === '' ? {} : { slice }),
    status,
    verdict,
    rows,
    requests,
    error,
  };
  if (error !== undefined)
    return {
      level: status === 'failed' ? 'error' : 'warn',
      message: withName(error.message, stream),
      fields,
    };
  if (status !== 'complete') return { level: 'info', message: `${stream}: ${status}`, fields };
  if (report.mode === 'rebuild')
    return {
      level: 'info',
      message: `${stream}: rebuilt, ${formatCountOf(report.rowsInTable ?? 0, 'row')}`,
      fields,
    };
  const message =
    `${stream}: ${verdict ?? 'done'}, ${formatCount(rows.inserted)} new, ` +
    `${formatCount(rows.updated)} changed, ${formatCount(rows.unchanged)} unchanged`;
  return { level: verdict === 'drifted' || verdict === 'partial' ? 'warn' : 'info', message, fields };
}

function info(message: string, fields: Readonly<Record<string, unknown>>): LogLine {
  return { level: 'info', message, fields };
}
