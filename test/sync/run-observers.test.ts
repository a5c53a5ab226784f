import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openProgressDisplay } from '../../src/cli/progress/open-display.ts';
import { countMetrics, recordRefusals, saveMetrics, sendNotices } from '../../src/cli/steps/follow-run.ts';
import { reportToDagster } from '../../src/cli/steps/report-to-dagster.ts';
import { ConfigError } from '../../src/model/errors.ts';
import type { ProgressEvent } from '../../src/model/progress.ts';
import { type EndedRun, type RunObserver, tellEnd, tellEvent } from '../../src/model/run-observer.ts';
import { keepProgress } from '../../src/sync/keep-progress.ts';
import { PublishMeanwhile } from '../../src/sync/publish-meanwhile.ts';
import { followRunWith } from '../../src/telemetry/follow-run.ts';
import { createWorld, stoppedClock } from '../cli/support/capture.ts';
import { SECRET } from '../cli/support/fake-engine.ts';
import { makeRunReport, makeStreamReport, NOW_MS } from '../cli/support/reports.ts';
import { makeStep } from '../dagster/pipes.ts';

// What every observer of runs has to be: harmless, whatever it is given, in any order.

const globals = {
  config: undefined,
  json: undefined,
  logLevel: undefined,
  logFormat: undefined,
  noProgress: undefined,
};

const observers: Readonly<Record<string, () => Promise<RunObserver>>> = {
  'lines of a log': async () => ({
    name: 'lines',
    onEvent: (await openProgressDisplay(createWorld().context, globals)).onProgress,
  }),
  'a live display': async () => ({
    name: 'display',
    onEvent: (await openProgressDisplay(createWorld({ columns: 80 }).context, globals)).onProgress,
  }),
  'the progress file': async () =>
    Promise.resolve(
      keepProgress(mkdtempSync(join(tmpdir(), 'progress-')), { runId: 'run-1', clock: stoppedClock }),
    ),
  'publishing during waits': async () =>
    Promise.resolve(new PublishMeanwhile(stoppedClock, () => Promise.reject(new Error('not called')))),
  'the record of refused runs': async () =>
    Promise.resolve(recordRefusals(createWorld().context, { stateDir: '/data/.sluice', guessed: false })),
  notices: async () => {
    const { context } = createWorld();
    const settings = await context.engine.loadSettings({ config: undefined } as never);
    return sendNotices(context, { ...settings, keyExpiryWarning: undefined } as never);
  },
  traces: async () => {
    const api = await import('@opentelemetry/api');
    const { TracerProvider } = await import('@opentelemetry/sdk-trace');
    const tracer = new TracerProvider().getTracer('test');
    const mask = (text: string) => text.replaceAll(SECRET, '');
    return followRunWith({ api, tracer, parent: api.ROOT_CONTEXT, clock: stoppedClock, mask }, {});
  },
  'a step of Dagster': async () => {
    const { env } = makeStep({ assets: ['items'], extras: { sluice: { check: 'verdict' } } });
    const observer = await reportToDagster(createWorld({ env }).context);
    if (observer === undefined) throw new Error('the variables were not seen');
    return observer;
  },
  metrics: async () => {
    const { context } = createWorld();
    return Promise.resolve(
      countMetrics(context, undefined, (facts) => saveMetrics(context, '/data/metrics.prom', facts)),
    );
  },
};

/** One of each kind. */
const events: readonly ProgressEvent[] = [
  { type: 'run-started', runId: 'run-1', streams: ['items'] },
  { type: 'stream-started', stream: 'items', mode: 'full' },
  { type: 'stream-resumed', stream: 'items', pagesHeld: 1, rowsHeld: 2 },
  { type: 'stream-restarted', stream: 'items', reason: 'the data moved' },
  {
    type: 'page-staged',
    stream: 'items',
    pagesDone: 1,
    pagesPlanned: undefined,
    rowsDone: 2,
    rowsDeclared: undefined,
  },
  {
    type: 'request-ended',
    stream: 'items',
    server: 'api.example.com',
    port: 443,
    path: '/items',
    offset: undefined,
    attempt: 2,
    quotaWaitMs: 0,
    startedAtMs: NOW_MS,
    endedAtMs: NOW_MS,
    outcome: { fault: 'timeout' },
  },
  { type: 'stream-loading', stream: 'items', rows: 2 },
  { type: 'stream-committing', stream: 'items' },
  { type: 'stream-committed', stream: 'items' },
  { type: 'waiting', reason: 'hourly-quota', untilMs: NOW_MS + 3_600_000 },
  { type: 'resumed' },
  { type: 'quota', remaining: 1, limit: 600, resetAtMs: NOW_MS },
  { type: 'warning', message: 'the key expires soon' },
  { type: 'note', message: 'the state is restored' },
  { type: 'reading-finished' },
  { type: 'publishing', path: '/data/warehouse.duckdb' },
  { type: 'published', path: '/data/warehouse.duckdb', bytes: 1 },
  { type: 'publish-failed', path: '/data/lake', code: 'publish_failed' },
  { type: 'stream-finished', report: makeStreamReport({ stream: 'items' }) },
  { type: 'run-finished', report: makeRunReport() },
];

const error = new ConfigError('no such stream', { code: 'config_invalid', hint: 'See --help.' });
const ends: Readonly<Record<string, EndedRun>> = {
  'a report': { startedAtMs: NOW_MS, report: makeRunReport() },
  'a failed report': { startedAtMs: NOW_MS, report: makeRunReport({ status: 'failed', exitCode: 4 }) },
  'no start': { startedAtMs: NOW_MS, error },
};

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !(value instanceof Error)) {
    Object.freeze(value);
    Object.values(value).forEach(freeze);
  }
  return value;
}

describe.each(Object.entries(observers))('%s', (_, create) => {
  it.each([
    ['in order', events],
    ['in reverse', events.toReversed()],
    ['without a start', events.slice(1)],
    ['twice', [...events, ...events]],
  ])('takes events %s, and changes none', async (_order, given) => {
    const observer = await create();
    expect(observer.name).not.toBe('');
    expect(given.flatMap((event) => tellEvent([observer], freeze(event)))).toEqual([]);
  });

  it.each(Object.entries(ends))('takes an end with %s, and says nothing secret', async (_end, ended) => {
    const warnings = await tellEnd([await create()], freeze(ended));
    for (const warning of warnings) {
      expect(warning).not.toContain(SECRET);
      expect(warning).not.toContain(' threw: ');
    }
  });
});
