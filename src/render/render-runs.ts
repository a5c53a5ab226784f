import { formatDuration } from '../text/duration.ts';
import type { RunSummary } from '../model/reports.ts';
import type { RunReport } from '../model/run-report.ts';
import { isUnfinished, kindOf } from '../model/run-report.ts';
import { drawFittingTable } from './fitting-table.ts';
import { formatCount } from '../text/format-count.ts';
import { formatMoment } from '../text/format-moment.ts';
import { toSafeLine } from './safe-text.ts';

/** The newest runs for people; `columns` is the width of the terminal, undefined if there is none. */
export function renderRuns(runs: readonly RunSummary[], columns: number | undefined): string {
  if (runs.length === 0) return 'No run yet; run: sluice sync';
  return drawFittingTable(
    [
      { title: 'RUN' },
      { title: 'STARTED', dropAt: 7 },
      { title: 'TOOK', align: 'right', dropAt: 3 },
      { title: 'KIND', dropAt: 8 },
      { title: 'STATUS' },
      { title: 'EXIT', align: 'right', dropAt: 6 },
      { title: 'REQUESTS', align: 'right', dropAt: 4 },
      { title: 'NEW', align: 'right', dropAt: 5 },
      { title: 'CHANGED', align: 'right', dropAt: 2 },
      { title: 'UNCHANGED', align: 'right', dropAt: 1 },
    ],
    runs.map((run) => [
      toSafeLine(run.runId),
      formatMoment(run.startedAt),
      formatTook(run),
      run.kind,
      run.status,
      isUnfinished(run.status) ? '-' : String(run.exitCode),
      formatCount(run.requests),
      formatCount(run.rowsInserted),
      formatCount(run.rowsUpdated),
      formatCount(run.rowsUnchanged),
    ]),
    columns,
  );
}

/** A run of which only the summary is left. */
export function renderRunSummary(run: RunSummary): string {
  const isOpen = isUnfinished(run.status);
  return [
    `run        ${toSafeLine(run.runId)}`,
    `kind       ${describeKind(run.kind)}`,
    `status     ${run.status}${isOpen ? '' : ` (exit code ${run.exitCode})`}`,
    `started    ${formatMoment(run.startedAt)}`,
    `finished   ${isOpen ? '-' : formatMoment(run.finishedAt)}`,
    `requests   ${formatCount(run.requests)}, waited ${formatDuration(run.waitedMs)}`,
    `rows       ${formatCount(run.rowsRead)} read: ${formatCount(run.rowsInserted)} new, ` +
      `${formatCount(run.rowsUpdated)} changed, ${formatCount(run.rowsUnchanged)} unchanged`,
  ].join('\n');
}

function describeKind(kind: RunSummary['kind']): string {
  switch (kind) {
    case 'sync':
      return 'sync';
    case 'rebuild':
      return 'rebuild of tables from the archive';
    case 'retry':
      return 'retry of records in quarantine';
    case 'state':
      return 'change of the state';
  }
}

function formatTook({ startedAt, finishedAt, status }: RunSummary): string {
  if (isUnfinished(status)) return '-';
  const ms = Date.parse(finishedAt) - Date.parse(startedAt);
  return Number.isNaN(ms) ? '-' : formatDuration(ms);
}

/** The summary of a run from its report. */
export function toRunSummary(report: RunReport): RunSummary {
  const { runId, startedAt, finishedAt, status, exitCode, requests, waitedMs, rows } = report;
  return {
    runId,
    kind: kindOf(report),
    startedAt,
    finishedAt,
    status,
    exitCode,
    requests,
    waitedMs,
    rowsRead: rows.read,
    rowsInserted: rows.inserted,
    rowsUpdated: rows.updated,
    rowsUnchanged: rows.unchanged,
  };
}
