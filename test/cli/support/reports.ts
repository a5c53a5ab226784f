import type { RunReport, StreamReport } from '../../../src/model/run-report.ts';

/** 2026-11-20 13:48:00 UTC, the time of every test that does not choose its own. */
export const NOW_MS = Date.UTC(2026, 10, 20, 13, 48);
const noRows = { read: 0, inserted: 0, updated: 0, unchanged: 0, deleted: 0, quarantined: 0 };

/** A stream's report: 100 new rows, verified, unless told. */
export function makeStreamReport(changes: Partial<StreamReport> = {}): StreamReport {
  const stream = changes.stream ?? 'prompts_analytics';
  return {
    stream,
    slice: '',
    table: stream,
    status: 'complete',
    mode: 'full',
    verdict: 'verified',
    reasons: [],
    rowsDeclared: 100,
    rows: { ...noRows, read: 100, inserted: 100 },
    rowsInTable: 100,
    pages: 1,
    requests: 2,
    rescans: 0,
    startedAt: new Date(NOW_MS - 60_000).toISOString(),
    finishedAt: new Date(NOW_MS).toISOString(),
    watermark: undefined,
    key: undefined,
    schemaChanges: [],
    error: undefined,
    ...changes,
  };
}

/** A run's report: complete, one stream, unless told. */
export function makeRunReport(changes: Partial<RunReport> = {}): RunReport {
  const streams = changes.streams ?? [makeStreamReport()];
  return {
    runId: 'run-1',
    status: 'complete',
    exitCode: 0,
    startedAt: new Date(NOW_MS - 65_000).toISOString(),
    finishedAt: new Date(NOW_MS).toISOString(),
    requests: 42,
    retries: 0,
    rateLimited: 0,
    waitedMs: 0,
    rows: { ...noRows, read: 100, inserted: 100 },
    streams,
    warnings: [],
    published: { path: '/data/warehouse.duckdb', bytes: 4_200_000 },
    quota: { limit: 600, remaining: 558, resetAtMs: NOW_MS + 720_000, notBeforeMs: undefined },
    resumeAt: undefined,
    error: undefined,
    version: '0.1.0',
    ...changes,
  };
}
