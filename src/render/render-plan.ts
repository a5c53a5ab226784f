import { capitalize } from './format-values.ts';
import type { DiskNeed, PlannedStream, PlanReport } from '../model/plan-report.ts';
import { nameScan } from '../model/stream.ts';
import { describeQuota } from './describe-run.ts';
import { formatCount, formatCountOf } from '../text/format-count.ts';
import { formatBytes } from '../text/format-bytes.ts';
import { formatForecast } from './format-values.ts';
import type { ReportOptions } from './render-sync.ts';
import { toSafeBlock, toSafeLine } from './safe-text.ts';
import { describePlanTime } from './describe-plan-time.ts';
import { describeEnd, withoutFirstOffset, withoutName } from '../text/name-once.ts';
import type { FittingColumn } from './fitting-table.ts';
import { drawFittingTable } from './fitting-table.ts';
import { drawTable, measureTable } from './table.ts';
import { wrapText } from './wrap-text.ts';

/** A plan for people. */
export function renderPlan(plan: PlanReport, { nowMs, columns }: ReportOptions): string {
  return [
    renderStreams(plan.streams, columns),
    ...[
      ...describeFailures(plan.streams),
      ...(plan.notes ?? []).map((note) => `note: ${toSafeLine(note)}`),
      describeTotals(plan, nowMs),
    ].map((prose) => wrapText(prose, columns)),
  ].join('\n\n');
}

const COLUMNS: readonly FittingColumn[] = [
  { title: 'STREAM' },
  { title: 'ACTION' },
  { title: 'ROWS', align: 'right' },
  { title: 'PAGES', align: 'right' },
  { title: 'REQUESTS', align: 'right' },
];

/** The table of streams, with its notes next to it if they fit, else below it. */
function renderStreams(streams: readonly PlannedStream[], columns: number | undefined): string {
  const rows = streams.map(describeRow);
  const notes = streams.map(describeNote);
  const wide = [...COLUMNS, { title: 'NOTE' }];
  const wideRows = rows.map((row, i) => [...row, notes[i] ?? '']);
  if (columns === undefined || measureTable(wide, wideRows) <= columns) return drawTable(wide, wideRows);
  const below = streams.flatMap(({ stream, slice }, i) =>
    notes[i] === '' ? [] : [`${toSafeLine(nameScan(stream, slice))}: ${notes[i]}`],
  );
  const table = drawFittingTable(COLUMNS, rows, columns);
  return below.length === 0 ? table : `${table}\n\n${wrapText(below.join('\n'), columns)}`;
}

function describeRow({ stream, slice, action, rows, pages, requests }: PlannedStream): readonly string[] {
  // The same word as in `sync` and `status`.
  const word = action === 'skip-fresh' ? 'fresh' : action;
  return [
    toSafeLine(nameScan(stream, slice)),
    word,
    formatCount(rows),
    formatCount(pages),
    formatCount(requests),
  ];
}

// What stops one stream often stops those after it too: reported once for all of them.
function describeFailures(streams: readonly PlannedStream[]): readonly string[] {
  const byText = new Map<string, string[]>();
  for (const { stream, slice, error } of streams) {
    if (error === undefined) continue;
    const message = withoutFirstOffset(withoutAnyName(error.message, streams));
    const text = `${toSafeBlock(message)}\n  next: ${toSafeBlock(error.hint)}`;
    byText.set(text, [...(byText.get(text) ?? []), toSafeLine(nameScan(stream, slice))]);
  }
  return [...byText].map(([text, names]) => describeEnd(names.join(', '), 'failed', text));
}

// An error that stopped the whole plan names the first affected stream for all the others too.
function withoutAnyName(message: string, streams: readonly PlannedStream[]): string {
  return streams.reduce((text, { stream }) => (text === message ? withoutName(text, stream) : text), message);
}

/** One sentence about a plan. */
export function summarizePlan({ totals, streams, quota, windows, etaMs }: PlanReport): string {
  if (totals.requests === undefined) return summarizeIncomplete(streams);
  const time = describePlanTime({ windows, windowSeconds: quota.windowSeconds, etaMs });
  return `the next sync takes ${formatCountOf(totals.requests, 'request')}${time}`;
}

// A stream that failed has no size either, but reading it would not reveal one.
function summarizeIncomplete(streams: readonly PlannedStream[]): string {
  const asked = streams.filter(({ error }) => error === undefined);
  if (asked.some(({ requests }) => requests === undefined)) {
    return 'the size of some streams is not known before they are read';
  }
  if (asked.length === 0) return 'nothing is known: no stream could be asked';
  const requests = asked.reduce((sum, stream) => sum + (stream.requests ?? 0), 0);
  const failed = formatCountOf(streams.length - asked.length, 'stream');
  return `the next sync takes ${formatCountOf(requests, 'request')}, and more for ${failed} that failed`;
}

function describeNote({ from, note }: PlannedStream): string {
  return [from === undefined ? '' : `from ${from}`, note === undefined ? '' : toSafeLine(note)]
    .filter((part) => part !== '')
    .join('; ');
}

function describeDisk(needs: readonly DiskNeed[]): readonly string[] {
  return needs
    .filter(({ neededBytes }) => neededBytes > 0)
    .map(({ path, neededBytes, freeBytes, fits }) => {
      const sizes = `about ${formatBytes(neededBytes)} in ${toSafeLine(path)}, where ${formatBytes(freeBytes)} are free`;
      return fits ? `Disk: ${sizes}.` : `warning: the disk is too small: the sync takes ${sizes}.`;
    });
}

// Others may have used the quota since the last run.
function describeLeft({ quota, offline }: PlanReport, nowMs: number): string {
  const left = describeQuota(quota, nowMs);
  return offline && left !== '' ? `when last seen, ${left}` : left;
}

function describeTotals(plan: PlanReport, nowMs: number): string {
  const { quota, etaMs } = plan;
  const left = describeLeft(plan, nowMs);
  const finish =
    etaMs === undefined || etaMs < 60_000
      ? ''
      : ` It would end about ${formatForecast(nowMs + etaMs, nowMs)}.`;
  const summary = summarizePlan(plan);
  return [
    `${capitalize(summary)}.${finish}`,
    `Quota: ${formatCountOf(quota.requestsPerHour, 'request')} an hour${left === '' ? '' : `; ${left}`}.`,
    ...describeDisk(plan.disk ?? []),
    plan.requestsSpent === 0
      ? 'No request was spent on this plan.'
      : `${formatCountOf(plan.requestsSpent, 'request')} spent on this plan.`,
  ].join('\n');
}
