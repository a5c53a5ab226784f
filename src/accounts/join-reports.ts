import type { RowCounts, RunReport, StreamReport } from '../model/run-report.ts';
import { nameScan } from '../model/stream.ts';

/** The names of the scans that a run completed: a continued run does not read them again. */
export function listCompleted({ streams }: RunReport): readonly string[] {
  return streams.filter(({ status }) => status === 'complete' || status === 'fresh').map(nameOf);
}

/**
 * Joins the report of a run with that of the run that continued it: each scan as it was read last, and the sum of what
 * both spent. Id, outcome and publication come from the later one.
 */
export function joinReports(earlier: RunReport | undefined, later: RunReport): RunReport {
  if (earlier === undefined) return later;
  const known = new Map(earlier.streams.map((stream) => [nameOf(stream), stream]));
  const sum = (key: 'requests' | 'retries' | 'rateLimited' | 'waitedMs') => earlier[key] + later[key];
  return {
    ...later,
    startedAt: earlier.startedAt,
    requests: sum('requests'),
    retries: sum('retries'),
    rateLimited: sum('rateLimited'),
    waitedMs: sum('waitedMs'),
    rows: addRows(earlier.rows, later.rows),
    streams: later.streams.map((stream) => {
      const before = known.get(nameOf(stream));
      if (before === undefined || stream.status !== 'fresh' || before.error !== undefined) return stream;
      return before;
    }),
    warnings: [...new Set([...earlier.warnings, ...later.warnings])],
    published: later.published ?? earlier.published,
  };
}

function addRows(a: RowCounts, b: RowCounts): RowCounts {
  return {
    read: a.read + b.read,
    inserted: a.inserted + b.inserted,
    updated: a.updated + b.updated,
    unchanged: a.unchanged + b.unchanged,
    deleted: a.deleted + b.deleted,
    quarantined: a.quarantined + b.quarantined,
  };
}

function nameOf({ stream, slice }: StreamReport): string {
  return nameScan(stream, slice);
}
