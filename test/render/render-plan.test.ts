import { describe, expect, it } from 'vitest';
import { renderPlan, summarizePlan } from '../../src/render/render-plan.ts';
import type { PlannedStream, PlanReport } from '../../src/model/plan-report.ts';
import { NOW_MS } from '../cli/support/reports.ts';

function makeStream(stream: string, changes: Partial<PlannedStream> = {}): PlannedStream {
  const size = { rows: 1_000, pages: 11, requests: 12 };
  return {
    stream,
    slice: '',
    action: 'full',
    from: undefined,
    ...size,
    note: undefined,
    error: undefined,
    ...changes,
  };
}

const unknown = { rows: undefined, pages: undefined, requests: undefined };

function refuse(stream: string, where: string): PlannedStream {
  const message = `${stream}${where}: the API refused the key (401)`;
  const error = { code: 'key_rejected', message, hint: 'Make a new key.', exitCode: 3 } as const;
  return makeStream(stream, { ...unknown, action: 'failed', error });
}

function makePlan(streams: readonly PlannedStream[]): PlanReport {
  return {
    offline: false,
    streams,
    totals: unknown,
    requestsSpent: 2,
    quota: {
      limit: 600,
      remaining: 558,
      resetAtMs: NOW_MS + 720_000,
      notBeforeMs: undefined,
      requestsPerHour: 600,
      windowSeconds: 3_600,
    },
    windows: undefined,
    etaMs: undefined,
    disk: undefined,
  };
}

describe('a plan', () => {
  it('reports an error that streams share once', () => {
    const plan = makePlan([refuse('visibility_mentions', ''), refuse('prompts_analytics', ', offset 0')]);
    const text = renderPlan(plan, { nowMs: NOW_MS, columns: undefined });
    expect(text).toContain(
      'visibility_mentions, prompts_analytics failed: the API refused the key (401)\n  next: Make a new key.',
    );
    expect(text.match(/refused the key/g)).toHaveLength(1);
    expect(text).not.toContain('before they are read');
  });

  it('reports it once, too, where the streams behind have the error of the first', () => {
    const first = refuse('prompts_analytics', ', offset 0');
    const { error } = first;
    const plan = makePlan([first, makeStream('later', { ...unknown, action: 'failed', error })]);
    expect(renderPlan(plan, { nowMs: NOW_MS, columns: undefined })).toContain(
      'prompts_analytics, later failed: the API refused the key (401)\n',
    );
  });

  it('blames the size only where a stream without an error has none', () => {
    const failed = refuse('b', '');
    expect(summarizePlan(makePlan([makeStream('a', unknown), failed]))).toContain('before they are read');
    expect(summarizePlan(makePlan([makeStream('a'), failed]))).toBe(
      'the next sync takes 12 requests, and more for 1 stream that failed',
    );
  });

  it('counts windows of the quota by their length', () => {
    const plan = makePlan([makeStream('a')]);
    const totals = { ...plan.totals, requests: 1_500 };
    expect(summarizePlan({ ...plan, totals, windows: 3 })).toContain('1,500 requests in 3 hourly windows');
    const quota = { ...plan.quota, windowSeconds: 900 };
    expect(summarizePlan({ ...plan, totals, windows: 3, quota })).toContain('in 3 windows of 15 min');
  });

  it('calls a fresh stream fresh, and cuts no name on a narrow terminal', () => {
    const name = 'commerce_category_products';
    const note = 'verified 3 min ago, which is within the freshness of 1 h';
    const plan = makePlan([makeStream(name, { action: 'skip-fresh', note }), makeStream('b')]);
    for (const columns of [40, 60, 80]) {
      const text = renderPlan(plan, { nowMs: NOW_MS, columns });
      expect(text).toMatch(/\bfresh\b/);
      expect(text).not.toContain('skip-fresh');
      expect(text).toContain(`${name}: verified`);
      expect(text.split('\n').filter((line) => line.length > columns)).toEqual([]);
    }
  });

  it('states the disk it takes, and warns where that is too small', () => {
    const need = { path: '/data', neededBytes: 3_200_000_000, freeBytes: 90_000_000_000, fits: true };
    const show = (disk: PlanReport['disk']) =>
      renderPlan({ ...makePlan([makeStream('a')]), disk }, { nowMs: NOW_MS, columns: undefined });
    expect(show([need])).toContain('Disk: about 3.2 GB in /data, where 90.0 GB are free.');
    expect(show([{ ...need, freeBytes: 1e9, fits: false }])).toContain(
      'warning: the disk is too small: the sync takes about 3.2 GB in /data, where 1.0 GB are free.',
    );
    expect(show([{ ...need, neededBytes: 0 }])).not.toContain('Disk');
    expect(show(undefined)).not.toContain('Disk');
  });
});
