import type { RunReport } from '../../src/model/run-report.ts';

/** A run that read ten rows. */
export function makeRun(parts: Partial<RunReport> = {}): RunReport {
  return {
    runId: 'run-1',
    status: 'complete',
    exitCode: 0,
    startedAt: '2026-01-31T12:00:00.000Z',
    finishedAt: '2026-01-31T12:00:05.000Z',
    requests: 12,
    retries: 1,
    rateLimited: 0,
    waitedMs: 0,
    rows: { read: 10, inserted: 1, updated: 2, unchanged: 7, deleted: 4, quarantined: 5 },
    streams: [],
    warnings: [],
    published: undefined,
    quota: undefined,
    resumeAt: undefined,
    error: undefined,
    version: '0.1.0',
    ...parts,
  };
}
