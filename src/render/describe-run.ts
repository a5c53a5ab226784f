import { nameScan } from '../model/stream.ts';
import { formatDuration } from '../text/duration.ts';
import type { ErrorCode } from '../model/errors.ts';
import type { PublishedTables } from '../model/destination.ts';
import type { PublishedLake } from '../model/lake.ts';
import type { QuotaSnapshot } from '../model/quota.ts';
import type { RunReport, StreamReport } from '../model/run-report.ts';
import { isUnfinished } from '../model/run-report.ts';
import type { RunUnderWay, StreamUnderWay } from '../model/run-under-way.ts';
import { countScans, formatCount, formatCountOf, verbOf } from '../text/format-count.ts';
import { formatBytes } from '../text/format-bytes.ts';
import { describeWait } from './describe-wait.ts';
import { formatReturnTime, formatUpcoming } from './format-values.ts';
import { toSafeLine } from './safe-text.ts';

/** What a run cost, where its data is and when to run again. */
export function describeRunFooter(report: RunReport, nowMs: number): string {
  const lines = [describeCost(report, nowMs)];
  if (report.published !== undefined) {
    const { path, bytes, lake, ducklake, iceberg, postgres, motherduck } = report.published;
    if (![lake, ducklake, iceberg, postgres, motherduck].some((one) => one?.path === path)) {
      lines.push(
        `Published ${toSafeLine(path)} (${formatBytes(bytes)}). Readers may keep it open; ` +
          'they see the new data once they close it and open it again.',
      );
    }
    if (lake !== undefined) lines.push(describeLake(lake));
    if (ducklake !== undefined) lines.push(describeTables('DuckLake', ducklake));
    if (iceberg !== undefined) lines.push(describeTables('Iceberg', iceberg));
    if (postgres !== undefined) lines.push(describeTables('Postgres', postgres));
    if (motherduck !== undefined) lines.push(describeTables('MotherDuck', motherduck));
  }
  lines.push(describeUnpublished(report), describeReturn(report, nowMs));
  return lines.filter((line) => line !== '').join('\n');
}

function describeTables(title: string, { path, tables, rowsInserted, rowsDeleted }: PublishedTables): string {
  const what = `${formatCountOf(rowsInserted, 'row')} written, ${formatCount(rowsDeleted)} removed, in ${formatCountOf(tables, 'table')}`;
  return `${title} ${toSafeLine(path)}: ${what}. Readers see it with their next query.`;
}

function describeLake({ path, tables, files, bytes }: PublishedLake): string {
  const what =
    tables === 0
      ? 'no file had to change'
      : files === 0
        ? `${formatCountOf(tables, 'table')} changed, without a new file`
        : `${formatCountOf(files, 'new file')} (${formatBytes(bytes)}) in ${formatCountOf(tables, 'table')}`;
  return `Lake ${toSafeLine(path)}: ${what}.`;
}

/** One sentence about a run, for `--json` and lists. */
export function summarizeRun(report: RunReport): string {
  const { rows, streams } = report;
  const deleted = rows.deleted === 0 ? '' : `, ${formatCount(rows.deleted)} deleted`;
  const counts = `${formatCount(rows.inserted)} new, ${formatCount(rows.updated)} changed${deleted}`;
  const missing = streams.filter(({ error, status }) => error !== undefined || status === 'not-run');
  const names = missing.map(({ stream, slice }) => toSafeLine(nameScan(stream, slice))).join(', ');
  const failures = missing.length === 0 ? '' : `, ${countScans(missing)} not complete (${names})`;
  return `run ${report.runId} ${report.status}: ${counts}${failures}, ${formatCountOf(report.requests, 'request')}`;
}

/** What is left of the quota: `558 of 600 requests left until 14:00 UTC`. */
export function describeQuota(quota: QuotaSnapshot | undefined, nowMs: number): string {
  if (quota?.remaining === undefined) return '';
  const limit = quota.limit === undefined ? '' : ` of ${formatCount(quota.limit)}`;
  // A window that has ended says nothing about the next one.
  if (quota.resetAtMs !== undefined && quota.resetAtMs <= nowMs) return '';
  const until = quota.resetAtMs === undefined ? '' : ` until ${formatUpcoming(quota.resetAtMs, nowMs)}`;
  const noun = verbOf(quota.limit ?? quota.remaining, 'request', 'requests');
  return `${formatCount(quota.remaining)}${limit} ${noun} left${until}`;
}

/** The progress of a run: a line per stream, and what it waits for. */
export function describeUnderWay(run: RunUnderWay | undefined, nowMs: number): string {
  if (run === undefined) return '';
  const { waiting } = run;
  const lines = run.streams.map((stream) => `  ${toSafeLine(stream.stream)}: ${describeReading(stream)}`);
  if (waiting !== undefined)
    lines.push(`  ${describeWait(waiting.reason, Date.parse(waiting.until), nowMs)}`);
  return lines.join('\n');
}

function describeReading({ state, pagesDone, pagesPlanned, rowsDone, rowsDeclared }: StreamUnderWay): string {
  if (state === 'queued' || state === 'finished') return state;
  return `${state}, ${ofAll(pagesDone, pagesPlanned, 'page')}, ${ofAll(rowsDone, rowsDeclared, 'row')}`;
}

function ofAll(count: number, all: number | undefined, noun: string): string {
  return all === undefined
    ? formatCountOf(count, noun)
    : `${formatCount(count)} of ${formatCountOf(all, noun)}`;
}

function describeCost(report: RunReport, nowMs: number): string {
  const retries = report.retries > 0 ? ` (${formatCountOf(report.retries, 'retry', 'retries')})` : '';
  const durationMs = Date.parse(report.finishedAt) - Date.parse(report.startedAt);
  const parts = [
    `${formatCountOf(report.requests, 'request')} used${retries}`,
    describeQuota(report.quota, nowMs),
    report.waitedMs >= 1_000 ? `waited ${formatDuration(report.waitedMs)}` : '',
    Number.isNaN(durationMs) || isUnfinished(report.status) ? '' : `took ${formatDuration(durationMs)}`,
  ];
  return `${parts.filter((part) => part !== '').join('; ')}.`;
}

// A signal ends a run before anything is published, which readers of the file would not expect.
function describeUnpublished({ status: end, exitCode, streams, published }: RunReport): string {
  if (isUnfinished(end) || (exitCode !== 130 && exitCode !== 143) || published !== undefined) return '';
  const names = streams.filter(({ status }) => status === 'complete').map(({ stream }) => toSafeLine(stream));
  if (names.length === 0) return '';
  const [verb, object] = names.length === 1 ? ['is', 'it'] : ['are', 'them'];
  return (
    `${names.join(', ')} ${verb} committed, but not published yet: ` +
    `nothing is published on a signal. The next run publishes ${object}.`
  );
}

// With these, a run ends by its own limits, so that there is nothing to wait for.
const OWN_LIMITS: readonly (ErrorCode | undefined)[] = ['request_limit_reached', 'deadline_reached'];

function describeReturn({ status, exitCode, resumeAt, error }: RunReport, nowMs: number): string {
  if (exitCode !== 75 || isUnfinished(status)) return '';
  const ms = resumeAt === undefined ? Number.NaN : Date.parse(resumeAt);
  if (ms > nowMs)
    return `Run the same command again from ${formatReturnTime(ms, nowMs)} on: it continues from here.`;
  const later = ms <= nowMs || OWN_LIMITS.includes(error?.code) ? '' : ' later';
  return `Run the same command again${later}: it continues from here.`;
}

/**
 * What to add to the command of a stopped run that reads fresh streams as well: it would read those again that are
 * complete.
 */
export function adviseOnRepeat({ exitCode, streams }: Pick<RunReport, 'exitCode' | 'streams'>): string {
  const left = new Set(streams.filter(({ status }) => !DONE.includes(status)).map(({ stream }) => stream));
  const isAnyDone = streams.some(({ stream, status }) => DONE.includes(status) && !left.has(stream));
  if (exitCode !== 75 || !isAnyDone || left.size === 0) return '';
  return `The same command would read complete streams once more: add --streams ${[...left].map(toSafeLine).join(',')}`;
}

const DONE: readonly StreamReport['status'][] = ['complete', 'fresh', 'unavailable'];
