import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type MetricFacts, noFacts, type ScheduleFacts } from '../../src/metrics/metric-facts.ts';
import { renderMetrics } from '../../src/metrics/render-metrics.ts';
import { beginRun, followRun } from '../../src/metrics/run-in-progress.ts';
import type { ProgressEvent } from '../../src/model/progress.ts';
import { addRun, noTotals } from '../../state/run-totals.ts';
import { makeRunReport, makeStreamReport, NOW_MS } from '../cli/support/reports.ts';
import { type Family, lintFamily, parseMetrics } from './parse-metrics.ts';

const report = makeRunReport({
  waitedMs: 90_500,
  streams: [
    makeStreamReport({
      rows: { read: 9, inserted: 4, updated: 3, unchanged: 0, deleted: 2, quarantined: 1 },
    }),
    makeStreamReport({ stream: 'visibility_mentions', slice: 'entity=a"b\\c' }),
  ],
});

const facts: MetricFacts = {
  status: {
    duckdbPath: '/data/warehouse.duckdb',
    published: undefined,
    streams: [
      {
        stream: 'prompts_analytics',
        slice: '',
        verdict: 'drifted',
        unsettled: undefined,
        quarantined: 0,
        rows: 1_800,
        watermark: '2026-11-13',
        newest: { date: '2026-11-13', since: '2026-11-14T06:00:00.000Z', usualMs: 129_600_000, stale: true },
        verifiedAt: '2026-11-20T10:00:00.000Z',
        fresh: true,
        keyColumns: undefined,
        keyState: undefined,
      },
      {
        stream: 'visibility_mentions',
        slice: 'entity=a"b\\c',
        verdict: undefined,
        unsettled: undefined,
        quarantined: 0,
        rows: undefined,
        watermark: undefined,
        newest: undefined,
        verifiedAt: undefined,
        fresh: false,
        keyColumns: undefined,
        keyState: undefined,
      },
    ],
    quota: { limit: 600, remaining: 558, resetAtMs: NOW_MS + 720_400.5, notBeforeMs: undefined },
    lastRun: undefined,
    refused: undefined,
    quarantined: 0,
  },
  totals: addRun(addRun(noTotals, 0, report), 75, undefined),
  lastRun: { exitCode: 5, status: 'partial', startedAtMs: NOW_MS - 65_000, endedAtMs: NOW_MS },
  keyExpiresAt: '2027-06-30',
};
const schedule: ScheduleFacts = {
  run: undefined,
  nextRunAtMs: NOW_MS + 60_000,
  skippedTicks: 2,
  outageSinceMs: NOW_MS - 90_000,
};

async function readFamilies(...given: Parameters<typeof renderMetrics>): Promise<readonly Family[]> {
  return parseMetrics(await renderMetrics(...given));
}

function valueOf(families: readonly Family[], name: string, labels: Readonly<Record<string, string>> = {}) {
  const family = families.find((one) => one.name === `sluice_${name}`);
  return family?.samples.find((sample) =>
    Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  )?.value;
}

describe('metrics', () => {
  it('are the text format, named as Prometheus names things', async () => {
    const families = await readFamilies(facts, schedule);
    expect(families.map((family) => ({ name: family.name, flaws: lintFamily(family) }))).toEqual(
      families.map(({ name }) => ({ name, flaws: [] })),
    );
    expect(families.length).toBeGreaterThan(25);
  });

  it.each([
    ['build_info', {}, 1],
    ['up', {}, 1],
    ['run_in_progress', {}, 0],
    ['next_run_timestamp_seconds', {}, NOW_MS / 1_000 + 60],
    ['skipped_ticks_total', {}, 2],
    ['last_run_exit_code', {}, 5],
    ['last_run_duration_seconds', {}, 65],
    ['last_run_start_timestamp_seconds', {}, NOW_MS / 1_000 - 65],
    ['last_run_end_timestamp_seconds', {}, NOW_MS / 1_000],
    ['last_run_status', { status: 'partial' }, 1],
    ['last_run_status', { status: 'complete' }, 0],
    ['last_success_timestamp_seconds', {}, NOW_MS / 1_000],
    ['runs_total', { exit_code: '0' }, 1],
    ['runs_total', { exit_code: '75' }, 1],
    ['runs_total', { exit_code: '3' }, 0],
    ['requests_total', {}, 42],
    ['waited_seconds_total', {}, 90.5],
    ['quota_limit_requests', {}, 600],
    ['quota_remaining_requests', {}, 558],
    ['quota_reset_timestamp_seconds', {}, Math.ceil((NOW_MS + 720_400.5) / 1_000)],
    ['key_expiry_timestamp_seconds', {}, Date.UTC(2027, 5, 30) / 1_000],
    [
      'stream_verified_timestamp_seconds',
      { stream: 'prompts_analytics' },
      Date.UTC(2026, 10, 20, 10) / 1_000,
    ],
    ['stream_watermark_timestamp_seconds', { stream: 'prompts_analytics' }, Date.UTC(2026, 10, 13) / 1_000],
    [
      'stream_newest_data_timestamp_seconds',
      { stream: 'prompts_analytics' },
      Date.UTC(2026, 10, 14, 6) / 1_000,
    ],
    ['stream_data_stale', { stream: 'prompts_analytics' }, 1],
    ['stream_data_stale', { stream: 'visibility_mentions' }, undefined],
    ['stream_rows', { stream: 'prompts_analytics' }, 1_800],
    ['stream_verdict', { stream: 'prompts_analytics', verdict: 'drifted' }, 1],
    ['stream_verdict', { stream: 'prompts_analytics', verdict: 'verified' }, 0],
    ['rows_inserted_total', { stream: 'prompts_analytics' }, 4],
    ['rows_updated_total', { stream: 'prompts_analytics' }, 3],
    ['rows_deleted_total', { stream: 'prompts_analytics' }, 2],
    ['rows_quarantined_total', { stream: 'prompts_analytics' }, 1],
    ['rows_read_total', { stream: 'prompts_analytics' }, 9],
    ['rows_inserted_total', { slice: String.raw`entity=a\"b\\c` }, 100],
    // What is unknown has no series, and is not 0.
    ['stream_rows', { stream: 'visibility_mentions' }, undefined],
    ['stream_verdict', { stream: 'visibility_mentions' }, undefined],
  ] as const)('tell sluice_%s %j', async (name, labels, value) => {
    expect(valueOf(await readFamilies(facts, schedule), name, labels)).toBe(value);
  });

  it('follow a run in progress', async () => {
    const events: readonly ProgressEvent[] = [
      { type: 'quota', remaining: 7, limit: 600, resetAtMs: NOW_MS + 60_000 },
      { type: 'note', message: 'nothing of interest' },
      { type: 'quota', remaining: 0, limit: 600, resetAtMs: NOW_MS + 60_000 },
      { type: 'waiting', reason: 'hourly-quota', untilMs: NOW_MS + 61_000 },
    ];
    const run = events.reduce(followRun, beginRun(NOW_MS));
    const waiting = await readFamilies(facts, { ...schedule, run });
    expect(valueOf(waiting, 'run_in_progress')).toBe(1);
    expect(valueOf(waiting, 'run_start_timestamp_seconds')).toBe(NOW_MS / 1_000);
    expect(valueOf(waiting, 'waiting_until_timestamp_seconds')).toBe(NOW_MS / 1_000 + 61);
    expect(valueOf(waiting, 'quota_remaining_requests')).toBe(0);
    expect(valueOf(waiting, 'quota_reset_timestamp_seconds')).toBe(NOW_MS / 1_000 + 60);
    const working = await readFamilies(facts, { ...schedule, run: followRun(run, { type: 'resumed' }) });
    expect(valueOf(working, 'waiting_until_timestamp_seconds')).toBeUndefined();
  });

  it('leave out what belongs to a schedule, and what is not known', async () => {
    expect((await readFamilies(noFacts)).map(({ name }) => name)).toEqual(['sluice_build_info']);
  });

  it('are all in docs/schedule.md, and no others are', async () => {
    const text = readFileSync(path.resolve(import.meta.dirname, '../../docs/schedule.md'), 'utf8');
    const rows = [...text.matchAll(/^\| `(sluice_\w+)`/gm)].map((match) => match[1]);
    const waiting = { ...beginRun(NOW_MS), waitingUntilMs: NOW_MS };
    const families = await readFamilies(facts, { ...schedule, run: waiting });
    expect(rows.toSorted()).toEqual(families.map(({ name }) => name).toSorted());
    // Alerts that name a metric nobody has never fire.
    const used = new Set([...text.matchAll(/\bsluice_\w+/g)].map(([name]) => name));
    expect([...used].filter((name) => !rows.includes(name))).toEqual([]);
  });
});
