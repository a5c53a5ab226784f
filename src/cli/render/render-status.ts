import { formatDuration } from '../../model/duration.ts';
import type { StatusReport, StreamStatusRow } from '../../model/reports.ts';
import { describeQuota, summarizeRun } from './describe-run.ts';
import { formatBytes, formatCount, formatMoment } from './format-values.ts';
import type { ReportOptions } from './render-sync.ts';
import { toSafeLine } from './safe-text.ts';
import { drawTableWithin } from './table.ts';

/** Freshness and completeness of each stream for people. */
export function renderStatus(report: StatusReport, { nowMs, columns }: ReportOptions): string {
  const table = drawTableWithin(
    [
      { title: 'STREAM' },
      { title: 'VERDICT' },
      { title: 'ROWS', align: 'right' },
      { title: 'WATERMARK' },
      { title: 'VERIFIED' },
      { title: 'KEY' },
    ],
    report.streams.map((row) => [
      toSafeLine(row.stream),
      row.verdict ?? 'never',
      formatCount(row.rows),
      row.watermark ?? '-',
      describeAge(row, nowMs),
      describeKey(row),
    ]),
    columns,
  );
  const quota = describeQuota(report.quota, nowMs);
  const { lastRun } = report;
  const lines = [
    describePublished(report),
    lastRun === undefined
      ? 'No run yet.'
      : `Last: ${summarizeRun(lastRun)}; ${formatMoment(lastRun.finishedAt)}.`,
    quota === '' ? 'Quota: not known since the last window ended.' : `Quota: ${quota}.`,
  ];
  return `${table}\n\n${lines.join('\n')}`;
}

/** One sentence about the status. */
export function summarizeStatus({ streams, published }: StatusReport): string {
  if (published === undefined) return 'nothing is published yet';
  const fresh = streams.filter((stream) => stream.fresh).length;
  return `${fresh} of ${streams.length} streams are fresh`;
}

function describePublished({ published, duckdbPath }: StatusReport): string {
  const path = toSafeLine(duckdbPath);
  if (published === undefined) return `Nothing is published at ${path} yet; run: sluice sync`;
  return `Published: ${path} (${formatBytes(published.bytes)}), ${formatMoment(published.modifiedAt)}.`;
}

function describeAge({ verifiedAt, fresh }: StreamStatusRow, nowMs: number): string {
  if (verifiedAt === undefined) return '-';
  const age = `${formatDuration(nowMs - Date.parse(verifiedAt))} ago`;
  return fresh ? `${age}, fresh` : age;
}

function describeKey({ keyColumns, keyState }: StreamStatusRow): string {
  if (keyColumns === undefined) return '-';
  const state = keyState === undefined ? '' : ` (${keyState})`;
  return `${keyColumns.map(toSafeLine).join(', ')}${state}`;
}
