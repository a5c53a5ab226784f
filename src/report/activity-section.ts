import { sum } from 'd3-array';
import { DAY_MS } from '../model/dates.ts';
import { formatDuration } from '../text/duration.ts';
import type { ReportData, RunFacts } from '../model/report-data.ts';
import { type Bar, drawBarChart } from './bar-chart.ts';
import type { ChartSet } from './chart.ts';
import { formatCount, formatCountOf, verbOf } from '../text/format-count.ts';
import { formatDay, formatMoment, formatShort, formatStamp, formatTime } from './format-values.ts';
import { html, type Markup } from './markup.ts';
import { scaleCounts, scaleDurations } from './scales.ts';
import { drawEmpty, type Section } from './section.ts';

/** Runs in a chart; more would be thinner than a finger. */
const CHART_RUNS = 40;
const LEAST_ROOM = 14;

/** What the last runs brought, and how long they took. */
export function buildRunSection(data: ReportData, charts: ChartSet): Section {
  const runs = data.runs.filter(({ status }) => status !== 'running').slice(-CHART_RUNS);
  const body =
    runs.length === 0
      ? drawEmpty('No run yet. The first one is `sluice sync`.')
      : html`<div class="pair">${drawRows(runs, charts)}${drawDurations(runs, charts)}</div>`;
  return { id: 'runs', heading: 'Runs', body };
}

function drawRows(runs: readonly RunFacts[], { prefix, hasNumbers }: ChartSet): Markup {
  const bars = toBars(runs, ({ rows }) => [rows.inserted, rows.updated, rows.deleted, rows.quarantined]);
  const total = (at: number) => sum(bars, ({ values }) => values[at] ?? 0);
  return drawBarChart({
    id: `${prefix}rows`,
    hasNumbers,
    title: 'New and changed rows',
    unit: 'rows per run',
    description: `${describeRuns(runs)}: ${formatCountOf(total(0), 'row')} new, ${formatCount(total(1))} changed, ${formatCount(total(2))} deleted, ${formatCountOf(total(3), 'record')} put in quarantine.`,
    parts: [
      { mark: 'first', label: 'new' },
      { mark: 'second', label: 'changed' },
      { mark: 'rest', label: 'deleted' },
      { mark: 'third', label: 'in quarantine' },
    ],
    bars,
    scale: scaleCounts,
    format: formatCount,
    flagged: 'not complete',
    nameHead: 'Run',
    leastRoom: LEAST_ROOM,
  });
}

function drawDurations(runs: readonly RunFacts[], { prefix, hasNumbers }: ChartSet): Markup {
  const bars = toBars(runs, ({ startedAt, finishedAt, waitedMs }) => {
    const tookMs = finishedAt === undefined ? 0 : Math.max(0, Date.parse(finishedAt) - Date.parse(startedAt));
    // Requests that wait side by side may add up to more than the run.
    const waiting = Math.min(waitedMs, tookMs);
    return [tookMs - waiting, waiting];
  });
  const longest = Math.max(...bars.map(({ values }) => sum(values)));
  const waited = sum(bars, ({ values }) => values[1] ?? 0);
  return drawBarChart({
    id: `${prefix}durations`,
    hasNumbers,
    title: 'How long runs took',
    unit: 'time per run',
    description: `${describeRuns(runs)}: the longest took ${formatDuration(longest)}; in all ${formatDuration(waited)} were spent waiting for the quota or before retries.`,
    parts: [
      { mark: 'first', label: 'working' },
      { mark: 'wait', label: 'waiting for the quota or a retry' },
    ],
    bars,
    scale: scaleDurations,
    format: formatDuration,
    flagged: 'not complete',
    nameHead: 'Run',
    leastRoom: LEAST_ROOM,
  });
}

const flagged = ['failed', 'partial', 'stopped', 'interrupted', 'killed'];

function toBars(runs: readonly RunFacts[], values: (run: RunFacts) => readonly number[]): readonly Bar[] {
  const spanMs = Date.parse(runs.at(-1)?.startedAt ?? '') - Date.parse(runs[0]?.startedAt ?? '');
  const label = spanMs > 2 * DAY_MS ? formatDay : formatTime;
  return runs.map((run) => ({
    label: label(run.startedAt),
    name: formatStamp(run.startedAt),
    values: values(run),
    flag: flagged.includes(run.status) ? run.status : undefined,
  }));
}

function describeRuns(runs: readonly RunFacts[]): string {
  const first = formatMoment(runs[0]?.startedAt ?? '');
  if (runs.length === 1) return `One run, ${first}`;
  const failed = runs.filter(({ status }) => flagged.includes(status)).length;
  const ended = failed === 0 ? '' : `, ${failed} of them not complete (✕)`;
  return `${runs.length} runs from ${first} to ${formatMoment(runs.at(-1)?.startedAt ?? '')}${ended}`;
}

/** How much of the quota the runs of the last days used. */
export function buildQuotaSection(
  { requests, quota, runs }: ReportData,
  { prefix, hasNumbers }: ChartSet,
): Section {
  const { hours, limit } = requests;
  const total = sum(hours, (hour) => hour.requests);
  const busiest = hours.reduce(
    (a, b) => (b.requests > a.requests ? b : a),
    hours[0] ?? { hour: '', requests: 0 },
  );
  const isLong = hours.length > 48;
  const chart = drawBarChart({
    id: `${prefix}requests`,
    hasNumbers,
    title: 'Requests by the hour',
    unit: 'requests per hour (UTC)',
    description: `${formatCountOf(total, 'request')} in ${formatCountOf(hours.length, 'hour')}; the busiest hour was ${formatMoment(busiest.hour)} with ${formatCount(busiest.requests)}${limit === undefined ? '' : ` of the ${formatCount(limit)} that the server allows`}.`,
    parts: [{ mark: 'first', label: 'requests' }],
    bars: hours.map(({ hour, requests: count }) => ({
      label: isLong ? formatDay(hour) : formatTime(hour),
      name: formatStamp(hour),
      values: [count],
    })),
    scale: scaleCounts,
    format: formatCount,
    limit: limit === undefined ? undefined : { value: limit, label: `limit ${formatShort(limit)}` },
    nameHead: 'Hour',
    leastRoom: 24,
  });
  const left =
    quota?.remaining === undefined
      ? ''
      : `${formatCount(quota.remaining)}${quota.limit === undefined ? '' : ` of ${formatCount(quota.limit)}`} ${verbOf(quota.limit ?? quota.remaining, 'request', 'requests')} ${verbOf(quota.remaining, 'was', 'were')} left when the server last said so${quota.resetAtMs === undefined ? '' : `, until ${formatMoment(new Date(quota.resetAtMs).toISOString())}`}. `;
  const body = html`${runs.length === 0 && drawEmpty('No request was sent yet.')} ${runs.length > 0 && chart}
  ${runs.length > 0 && html`<p class="remark">${left}Requests of runs only. Where a stream was read over several hours, its requests are spread evenly over them.</p>`}`;
  return { id: 'quota', heading: 'Quota', body };
}
