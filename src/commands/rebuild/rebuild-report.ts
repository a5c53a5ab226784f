import type { SyncError } from '../../model/errors.ts';
import { formatCountOf, verbOf } from '../../text/format-count.ts';
import type { RebuiltStream } from '../../model/reports.ts';
import { type StreamReport, toReportedError } from '../../model/run-report.ts';
import type { Stream } from '../../model/stream.ts';
import type { SliceArchive } from './find-archive.ts';
import { measureArchives, type RebuiltTable } from './rebuild-stream.ts';

/** A stream without anything to rebuild. */
export function emptyStream({ name }: Stream): RebuiltStream {
  return {
    stream: name,
    status: 'empty',
    scans: 0,
    from: undefined,
    to: undefined,
    records: 0,
    rowsBefore: undefined,
    rowsAfter: undefined,
    rowsKept: 0,
    rowsQuarantined: 0,
    schemaChanges: [],
    notes: [],
    error: undefined,
  };
}

/** A stream with a complete archive. */
export function plannedStream(stream: Stream, archives: readonly SliceArchive[]): RebuiltStream {
  const times = archives.flatMap(({ scans }) => scans.map(({ loadedAtMs }) => loadedAtMs));
  const { scans, records } = measureArchives(archives);
  return {
    ...emptyStream(stream),
    status: 'planned',
    scans,
    records,
    from: new Date(Math.min(...times)).toISOString(),
    to: new Date(Math.max(...times)).toISOString(),
  };
}

export function rebuiltStream(
  stream: Stream,
  archives: readonly SliceArchive[],
  table: RebuiltTable,
): RebuiltStream {
  const { rowsBefore, rowsAfter, rowsKept, rowsQuarantined, schemaChanges, notes } = table;
  const changed = { rowsBefore, rowsAfter, rowsKept, rowsQuarantined, schemaChanges, notes };
  return { ...plannedStream(stream, archives), ...changed, status: 'rebuilt' };
}

export function failedStream(
  stream: Stream,
  error: SyncError,
  archives: readonly SliceArchive[] = [],
): RebuiltStream {
  const known = archives.length === 0 ? emptyStream(stream) : plannedStream(stream, archives);
  return { ...known, status: 'failed', error: toReportedError(error) };
}

/** The row of a rebuilt stream in the record of runs. */
export function toStreamReport(
  stream: Stream,
  times: { readonly startedAtMs: number; readonly finishedAtMs: number },
  rebuilt: RebuiltTable | undefined,
  error: SyncError | undefined,
): StreamReport {
  const kept = rebuilt?.rowsKept ?? 0;
  return {
    stream: stream.name,
    slice: '',
    table: stream.table,
    status: error === undefined ? 'complete' : 'failed',
    mode: 'rebuild',
    verdict: undefined,
    reasons: [
      ...(rebuilt === undefined ? [] : [`built from ${formatCountOf(rebuilt.scans, 'archived scan')}`]),
      ...(kept === 0
        ? []
        : [
            `${formatCountOf(kept, 'row')} that the archive does not have ${verbOf(kept, 'was', 'were')} kept`,
          ]),
      ...(rebuilt?.notes ?? []),
    ],
    rowsDeclared: undefined,
    // No row came from the API: changes were not counted.
    rows: {
      read: rebuilt?.records ?? 0,
      inserted: 0,
      updated: 0,
      unchanged: 0,
      deleted: 0,
      quarantined: rebuilt?.rowsQuarantined ?? 0,
    },
    rowsInTable: rebuilt?.rowsAfter,
    pages: rebuilt?.pages ?? 0,
    requests: 0,
    rescans: 0,
    startedAt: new Date(times.startedAtMs).toISOString(),
    finishedAt: new Date(times.finishedAtMs).toISOString(),
    watermark: undefined,
    key: undefined,
    schemaChanges: rebuilt?.schemaChanges ?? [],
    error: error && toReportedError(error),
  };
}
