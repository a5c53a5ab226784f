import { formatDuration } from '../../model/duration.ts';
import type { QuotaSnapshot } from '../../model/quota.ts';
import type { RunReport } from '../../model/run-report.ts';
import {
  formatBytes,
  formatCount,
  formatCountOf,
  formatReturnTime,
  formatUpcoming,
} from './format-values.ts';
import { toSafeLine } from './safe-text.ts';

/** What a run cost, where its data lies and when to come back. */
export function describeRunFooter(report: RunReport, nowMs: number): string {
  const lines = [describeCost(report, nowMs)];
  if (report.published !== undefined) {
    const { path, bytes } = report.published;
    lines.push(
      `Published ${toSafeLine(path)} (${formatBytes(bytes)}). Readers may keep it open; ` +
        'they see the new data when they open it again.',
    );
  }
  const back = describeReturn(report, nowMs);
  if (back !== '') lines.push(back);
  return lines.join('\n');
}

/** One sentence about a run, for `--json` and lists. */
export function summarizeRun(report: RunReport): string {
  const { rows, streams } = report;
  const counts = `${formatCount(rows.inserted)} new, ${formatCount(rows.updated)} changed`;
  const failed = streams.filter(({ error }) => error !== undefined).length;
  const failures = failed === 0 ? '' : `, ${formatCountOf(failed, 'stream')} not complete`;
  return `run ${report.runId} ${report.status}: ${counts}${failures}, ${formatCountOf(report.requests, 'request')}`;
}

/** What is left of the quota: `558 of 600 requests left until 14:00 UTC`. */
export function describeQuota(quota: QuotaSnapshot | undefined, nowMs: number): string {
  if (quota?.remaining === undefined) return '';
  const limit = quota.limit === undefined ? '' : ` of ${formatCount(quota.limit)}`;
  // A window that has ended says nothing about the next one.
  if (quota.resetAtMs !== undefined && quota.resetAtMs <= nowMs) return '';
  const until = quota.resetAtMs === undefined ? '' : ` until ${formatUpcoming(quota.resetAtMs, nowMs)}`;
  return `${formatCount(quota.remaining)}${limit} requests left${until}`;
}

function describeCost(report: RunReport, nowMs: number): string {
  const retries =
    report.retries > 0 ? ` (${report.retries === 1 ? '1 retry' : `${report.retries} retries`})` : '';
  const durationMs = Date.parse(report.finishedAt) - Date.parse(report.startedAt);
  const parts = [
    `${formatCountOf(report.requests, 'request')} used${retries}`,
    describeQuota(report.quota, nowMs),
    report.waitedMs >= 1_000 ? `waited ${formatDuration(report.waitedMs)}` : '',
    Number.isNaN(durationMs) ? '' : `took ${formatDuration(durationMs)}`,
  ];
  return `${parts.filter((part) => part !== '').join('; ')}.`;
}

function describeReturn({ exitCode, resumeAt }: RunReport, nowMs: number): string {
  if (exitCode !== 75) return '';
  const ms = resumeAt === undefined ? Number.NaN : Date.parse(resumeAt);
  if (Number.isNaN(ms)) return 'Run it again later: it goes on from here.';
  return `Run it again from ${formatReturnTime(ms, nowMs)} on: it goes on from here.`;
}
