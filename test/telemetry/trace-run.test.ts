import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/model/errors.ts';
import type { ProgressEvent } from '../../src/model/progress.ts';
import type { EndedRun } from '../../src/model/run-observer.ts';
import { beginTrace, type TracedRun } from '../../src/telemetry/run-trace.ts';
import type { SpanStep } from '../../src/telemetry/span-step.ts';
import { traceEnd } from '../../src/telemetry/trace-end.ts';
import { traceEvent } from '../../src/telemetry/trace-run.ts';
import { makeRunReport, makeStreamReport, NOW_MS } from '../cli/support/reports.ts';

const run: TracedRun = { account: undefined, token: undefined, startedAtMs: NOW_MS };
const complete: EndedRun = { startedAtMs: NOW_MS, report: makeRunReport() };
const request: ProgressEvent = {
  type: 'request-ended',
  stream: 'items',
  server: 'api.example.com',
  port: 443,
  path: '/v1/items',
  offset: 100,
  attempt: 1,
  quotaWaitMs: 40,
  startedAtMs: NOW_MS + 1,
  endedAtMs: NOW_MS + 2,
  outcome: { status: 200 },
};
const started: ProgressEvent = { type: 'stream-started', stream: 'items', mode: 'full' };
const finished: ProgressEvent = {
  type: 'stream-finished',
  report: makeStreamReport({ stream: 'items' }),
};

/** What events lead to, each a second after the one before. */
function follow(
  events: readonly ProgressEvent[],
  ended: EndedRun | undefined = complete,
  of: TracedRun = run,
): readonly SpanStep[] {
  let trace = beginTrace(of);
  const steps: SpanStep[] = [];
  const apply = (traced: ReturnType<typeof traceEvent>) => {
    ({ trace } = traced);
    steps.push(...traced.steps);
  };
  events.forEach((event, n) => apply(traceEvent(trace, event, NOW_MS + (n + 1) * 1_000)));
  if (ended !== undefined) apply(traceEnd(trace, ended, NOW_MS + 60_000));
  return steps;
}

/** Each span with the one it is in, as `child < parent`, in their order. */
function draw(steps: readonly SpanStep[]): readonly string[] {
  const names = new Map(steps.flatMap((step) => (step.kind === 'begin' ? [[step.span, step.name]] : [])));
  return steps.flatMap((step) =>
    step.kind === 'begin' ? [`${step.name} < ${names.get(step.parent ?? -1) ?? '-'}`] : [],
  );
}

function findEnd(steps: readonly SpanStep[], name: string) {
  const begun = steps.find((step) => step.kind === 'begin' && step.name === name);
  const end = steps.find((step) => step.kind === 'end' && step.span === begun?.span);
  return end?.kind === 'end' ? end : undefined;
}

describe('the spans of a run', () => {
  const whole: readonly ProgressEvent[] = [
    { type: 'run-started', runId: 'run-1', streams: ['items'] },
    started,
    request,
    { type: 'stream-loading', stream: 'items', rows: 100 },
    request,
    { type: 'stream-committing', stream: 'items' },
    { type: 'stream-committed', stream: 'items' },
    finished,
    { type: 'publishing', path: '/data/warehouse.duckdb' },
    { type: 'published', path: '/data/warehouse.duckdb', bytes: 7 },
  ];

  it('are those of streams, in them reading, loading and committing, and in these the requests', () => {
    expect(draw(follow(whole))).toEqual([
      'sluice.run < -',
      'sluice.stream < sluice.run',
      'sluice.scan < sluice.stream',
      'http GET < sluice.scan',
      'sluice.load < sluice.stream',
      'http GET < sluice.load',
      'sluice.commit < sluice.stream',
      'sluice.publish < sluice.run',
    ]);
  });

  it('all end, once, and none before those in it', () => {
    const steps = follow(whole);
    const begun = steps.filter(({ kind }) => kind === 'begin').map(({ span }) => span);
    const ended = steps.filter(({ kind }) => kind === 'end').map(({ span }) => span);
    expect(ended.toSorted((a, b) => a - b)).toEqual(begun);
    expect(ended.at(-1)).toBe(0);
  });

  it('say whose run it is, how it ended and how complete a stream is', () => {
    const steps = follow(whole, complete, { ...run, account: 'acme', token: 7 });
    const [first] = steps;
    expect(first).toMatchObject({
      attributes: { 'sluice.account': 'acme', 'sluice.token': 7 },
      atMs: NOW_MS,
    });
    const { runId } = makeRunReport();
    expect(findEnd(steps, 'sluice.run')?.attributes).toMatchObject({
      'sluice.run_id': runId,
      'sluice.exit_code': 0,
      'sluice.status': 'complete',
    });
    expect(findEnd(steps, 'sluice.stream')?.attributes).toMatchObject({
      'sluice.stream': 'items',
      'sluice.verdict': 'verified',
      'sluice.status': 'complete',
    });
    expect(findEnd(steps, 'sluice.publish')?.attributes).toEqual({ 'sluice.bytes': 7 });
  });

  it('of requests have the times of the request, and no query', () => {
    const step = follow(whole).find((one) => one.kind === 'begin' && one.name === 'http GET');
    expect(step).toMatchObject({
      role: 'client',
      atMs: NOW_MS + 1,
      attributes: {
        'http.request.method': 'GET',
        'server.address': 'api.example.com',
        'server.port': 443,
        'url.path': '/v1/items',
        'http.request.resend_count': undefined,
        'sluice.account': undefined,
        'sluice.stream': 'items',
        'sluice.offset': 100,
        'sluice.quota_wait_ms': 40,
      },
    });
    expect(findEnd(follow(whole), 'http GET')).toMatchObject({
      atMs: NOW_MS + 2,
      attributes: { 'http.response.status_code': 200 },
      error: undefined,
    });
  });

  it('note waits, restarts and retries where they happened', () => {
    const steps = follow([
      started,
      { type: 'waiting', reason: 'hourly-quota', untilMs: NOW_MS + 3_600_000 },
      { type: 'resumed' },
      { ...request, attempt: 2, outcome: { fault: 'timeout' } },
      { type: 'stream-restarted', stream: 'items', reason: 'the data moved' },
    ]);
    const names = new Map(steps.flatMap((step) => (step.kind === 'begin' ? [[step.span, step.name]] : [])));
    expect(
      steps.flatMap((step) =>
        step.kind === 'event' ? [[step.name, names.get(step.span), step.attributes]] : [],
      ),
    ).toEqual([
      [
        'sluice.wait',
        'sluice.scan',
        { 'sluice.reason': 'hourly-quota', 'sluice.until': new Date(NOW_MS + 3_600_000).toISOString() },
      ],
      ['sluice.wait_over', 'sluice.scan', {}],
      ['sluice.retry', 'sluice.scan', { 'http.request.resend_count': 1, 'url.path': '/v1/items' }],
      ['sluice.restart', 'sluice.scan', { 'sluice.reason': 'the data moved' }],
    ]);
    expect(findEnd(steps, 'http GET')?.error).toEqual({ type: 'timeout', message: undefined });
    expect(draw(steps).filter((line) => line.startsWith('sluice.scan'))).toHaveLength(2);
  });

  it('of a fresh stream are one without a length', () => {
    const steps = follow([finished]);
    expect(draw(steps)).toEqual(['sluice.run < -', 'sluice.stream < sluice.run']);
  });

  it('show what failed by its code, and what was stopped as no error', () => {
    const error = { code: 'page_invalid', message: 'not a page', hint: '', exitCode: 4 } as const;
    const stream = makeStreamReport({ stream: 'items', status: 'failed', error: error as never });
    const report = makeRunReport({ status: 'failed', exitCode: 4, streams: [stream] });
    const failed = follow([started, request, { type: 'stream-finished', report: stream }], {
      startedAtMs: NOW_MS,
      report,
    });
    expect(findEnd(failed, 'sluice.scan')?.error).toEqual({ type: 'page_invalid', message: undefined });
    for (const name of ['sluice.stream', 'sluice.run'])
      expect(findEnd(failed, name)?.error).toEqual({ type: 'page_invalid', message: 'not a page' });
    const paused = makeRunReport({ status: 'stopped', exitCode: 75 });
    const end = findEnd(follow([started], { startedAtMs: NOW_MS, report: paused }), 'sluice.run');
    expect(end).toMatchObject({ error: undefined, attributes: { 'sluice.exit_code': 75 } });
  });

  it('of a run that was refused are its own alone, an error', () => {
    const error = new ConfigError('no such stream', { code: 'config_invalid', hint: 'See --help.' });
    const steps = follow([], { startedAtMs: NOW_MS, error });
    expect(draw(steps)).toEqual(['sluice.run < -']);
    expect(findEnd(steps, 'sluice.run')).toMatchObject({
      attributes: { 'sluice.exit_code': 2 },
      error: { type: 'config_invalid', message: 'no such stream' },
    });
  });

  it('of a destination that could not be published is an error', () => {
    const steps = follow([
      { type: 'publishing', path: '/data/lake' },
      { type: 'publish-failed', path: '/data/lake', code: 'publish_failed' },
    ]);
    expect(findEnd(steps, 'sluice.publish')?.error).toEqual({ type: 'publish_failed', message: undefined });
  });
});
