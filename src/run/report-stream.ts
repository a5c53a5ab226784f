import type { SyncError } from '../model/errors.ts';
import { noRows, type StreamReport, type StreamStatus, toReportedError } from '../model/run-report.ts';
import { type Checkpoint, sliceIdOf, type Stream } from '../model/stream.ts';
import { hideSecrets } from '../storage/hide-secrets.ts';
import type { Recording } from './run-context.ts';
import type { CommittedScan, FetchedScan } from './scan.ts';

/** Saves the run's own row; called in the transaction that commits a scan. */
export type SaveRun = (report: StreamReport) => Promise<void>;

/** When a stream's turn came, and how many requests the run had made by then. */
export interface Started {
  readonly atMs: number;
  readonly requests: number;
}

/** Pages kept although their scan did not end. */
export type StagedSoFar = Pick<FetchedScan, 'pages' | 'total'>;

/** What is known about a stream's sync; what did not happen is left out. */
export interface ReportParts {
  readonly status: StreamStatus;
  readonly mode?: 'full' | 'incremental' | 'retry';
  readonly verdict?: StreamReport['verdict'];
  readonly rowsInTable?: number | undefined;
  readonly reasons?: readonly string[];
  readonly scan?: FetchedScan;
  readonly staged?: StagedSoFar;
  readonly committed?: CommittedScan;
  readonly checkpoint?: Checkpoint | undefined;
  readonly error?: SyncError | undefined;
}

/** A report of a stream as it stands; what did not happen is empty. */
export function reportStream(
  context: Recording,
  stream: Stream,
  started: Started,
  parts: ReportParts,
): StreamReport {
  const { scan, staged, committed, checkpoint, status } = parts;
  const { keyFields, keyOrigin } = checkpoint ?? {};
  const finishedAtMs = context.recordClock.now();
  return {
    stream: stream.name,
    slice: sliceIdOf(stream),
    table: stream.table,
    status,
    mode: parts.mode,
    verdict: parts.verdict,
    reasons: hideSecrets(context.settings, parts.reasons ?? []),
    rowsDeclared: (scan ?? staged)?.total,
    rows: committed?.rows ?? noRows,
    rowsInTable: committed?.rowsInTable ?? parts.rowsInTable,
    rowsInApi: committed?.rowsInApi,
    difference: committed?.difference,
    pages: (scan ?? staged)?.pages ?? 0,
    requests: context.source.client.usage.requests - started.requests,
    rescans: scan?.rescans ?? 0,
    // May be later than now if the clock was corrected since.
    startedAt: new Date(Math.min(started.atMs, finishedAtMs)).toISOString(),
    finishedAt: new Date(finishedAtMs).toISOString(),
    watermark: checkpoint?.watermark,
    key:
      keyFields === undefined || keyOrigin === undefined
        ? undefined
        : { columns: keyFields, origin: keyOrigin },
    schemaChanges: committed?.schemaChanges ?? [],
    error:
      parts.error && status !== 'unavailable'
        ? hideSecrets(context.settings, toReportedError(parts.error))
        : undefined,
  };
}
