import { formatDuration } from '../../model/duration.ts';
import type { PlannedStream, PlanReport } from '../../model/reports.ts';
import { describeQuota } from './describe-run.ts';
import { formatCount, formatCountOf, formatReturnTime } from './format-values.ts';
import type { ReportOptions } from './render-sync.ts';
import { toSafeBlock, toSafeLine } from './safe-text.ts';
import { withoutName } from './without-name.ts';
import { drawTableWithin } from './table.ts';

/** A plan for people. */
export function renderPlan(plan: PlanReport, { nowMs, columns }: ReportOptions): string {
  const table = drawTableWithin(
    [
      { title: 'STREAM' },
      { title: 'ACTION' },
      { title: 'ROWS', align: 'right' },
      { title: 'PAGES', align: 'right' },
      { title: 'REQUESTS', align: 'right' },
      { title: 'NOTE' },
    ],
    plan.streams.map((stream) => [
      stream.stream,
      stream.action,
      formatCount(stream.rows),
      formatCount(stream.pages),
      formatCount(stream.requests),
      describeNote(stream),
    ]),
    columns,
  );
  return [table, ...describeFailures(plan.streams), describeTotals(plan, nowMs)].join('\n\n');
}

// What stops one stream often stops those after it alike: told once for all of them.
function describeFailures(streams: readonly PlannedStream[]): readonly string[] {
  const byText = new Map<string, string[]>();
  for (const { stream, error } of streams) {
    if (error === undefined) continue;
    const text = `${toSafeBlock(withoutName(error.message, stream))}\n  next: ${toSafeBlock(error.hint)}`;
    byText.set(text, [...(byText.get(text) ?? []), toSafeLine(stream)]);
  }
  return [...byText].map(([text, names]) => `${names.join(', ')} failed: ${text}`);
}

/** One sentence about a plan. */
export function summarizePlan({ totals, windows, etaMs }: PlanReport): string {
  if (totals.requests === undefined) return 'the size of some streams is not known before they are read';
  const eta = etaMs === undefined ? '' : `, about ${formatDuration(etaMs)}`;
  const inWindows = windows === undefined || windows <= 1 ? '' : ` in ${windows} hourly windows`;
  return `the next sync takes ${formatCountOf(totals.requests, 'request')}${inWindows}${eta}`;
}

function describeNote({ from, note }: PlannedStream): string {
  return [from === undefined ? '' : `from ${from}`, note === undefined ? '' : toSafeLine(note)]
    .filter((part) => part !== '')
    .join('; ');
}

function describeTotals(plan: PlanReport, nowMs: number): string {
  const { quota, etaMs } = plan;
  const left = describeQuota(quota, nowMs);
  const finish =
    etaMs === undefined || etaMs < 60_000
      ? ''
      : ` It would end about ${formatReturnTime(nowMs + etaMs, nowMs)}.`;
  const summary = summarizePlan(plan);
  return [
    `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.${finish}`,
    `Quota: ${formatCount(quota.requestsPerHour)} requests an hour${left === '' ? '' : `; ${left}`}.`,
    plan.requestsSpent === 0
      ? 'No request was spent on this plan.'
      : `${formatCountOf(plan.requestsSpent, 'request')} spent on this plan.`,
  ].join('\n');
}
