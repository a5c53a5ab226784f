import { formatDuration } from '../../model/duration.ts';
import type { RunSummary } from '../../model/reports.ts';
import type { RunReport } from '../../model/run-report.ts';
import { formatCount, formatMoment } from './format-values.ts';
import { drawTable } from './table.ts';

/** The newest runs for people. */
export function renderRuns(runs: readonly RunSummary[]): string {
  if (runs.length === 0) return 'No run yet; run: sluice sync';
  return drawTable(
    [
      { title: 'RUN' },
      { title: 'STARTED' },
      { title: 'TOOK', align: 'right' },
      { title: 'STATUS' },
      { title: 'EXIT', align: 'right' },
      { title: 'REQUESTS', align: 'right' },
      { title: 'NEW', align: 'right' },
      { title: 'CHANGED', align: 'right' },
      { title: 'UNCHANGED', align: 'right' },
    ],
    runs.map((run) => [
      run.runId,
      formatMoment(run.startedAt),
      formatTook(run),
      run.status,
      String(run.exitCode),
      formatCount(run.requests),
      formatCount(run.rowsInserted),
      formatCount(run.rowsUpdated),
      formatCount(run.rowsUnchanged),
    ]),
  );
}

/** One run of which only the summary is left. */
export function renderRunSummary(run: RunSummary): string {
  return [
    `run        ${run.runId}`,
    `status     ${run.status} (exit code ${run.exitCode})`,
    `started    ${formatMoment(run.startedAt)}`,
    `finished   ${formatMoment(run.finishedAt)}`,
    `requests   ${formatCount(run.requests)}, waited ${formatDuration(run.waitedMs)}`,
    `rows       ${formatCount(run.rowsRead)} read: ${formatCount(run.rowsInserted)} new, ` +
      `${formatCount(run.rowsUpdated)} changed, ${formatCount(run.rowsUnchanged)} unchanged`,
  ].join('\n');
}

function formatTook({ startedAt, finishedAt }: RunSummary): string {
  const ms = Date.parse(finishedAt) - Date.parse(startedAt);
  return Number.isNaN(ms) ? '-' : formatDuration(ms);
}

/** The summary of a run whose report is at hand. */
export function toRunSummary(report: RunReport): RunSummary {
  const { runId, startedAt, finishedAt, status, exitCode, requests, waitedMs, rows } = report;
  return {
    runId,
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
