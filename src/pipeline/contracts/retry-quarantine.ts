import { lockStateFolder } from '../../../state/lock.ts';
import { appendRunFile, closeKilledRunsInFile } from '../../../state/run-file.ts';
import { writeRun, writeStreamRun } from '../../../state/runs.ts';
import { selectStreams } from '../../config/select-streams.ts';
import { toAbortError } from '../../model/abort.ts';
import { type Clock, systemClock } from '../../model/clock.ts';
import { type SyncError, toSyncError } from '../../model/errors.ts';
import type { OnProgress } from '../../model/progress.ts';
import { noQuota } from '../../model/quota.ts';
import type { RetriedStream, RetryReport } from '../../model/quarantine-report.ts';
import {
  type RowCounts,
  type RunReport,
  type StreamReport,
  toReportedError,
} from '../../model/run-report.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import { nameOf, sliceIdOf, sliceStream, type Stream } from '../../model/stream.ts';
import type { Database } from '../../warehouse/database.ts';
import { assertTargetIsOurs, openWarehouse } from '../open-warehouse.ts';
import { markGeneration, publishRun } from '../publish.ts';
import { chooseRunId, reportRun } from '../record-run.ts';
import { refusingClient, withoutKey } from '../refuse-requests.ts';
import { reportStream } from '../report-stream.ts';
import { type RetriedSlice, retrySlice } from './retry-slice.ts';
import type { RunContext } from '../run-context.ts';

export interface RetryOptions {
  readonly streams?: readonly string[];
  readonly runId?: string;
  readonly onProgress?: OnProgress | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * Tries the quarantined records of the selected streams again, by the contract that is in force now, and
 * publishes what was loaded; no request. What fails in a stream is in the report; only what keeps the run from
 * starting is thrown.
 */
export async function retryQuarantine(
  settings: OfflineSettings,
  options: RetryOptions = {},
): Promise<RetryReport> {
  const { clock = systemClock, signal } = options;
  const streams = selectStreams(settings, options.streams);
  const startedAtMs = clock.now();
  const startedAt = new Date(startedAtMs).toISOString();
  const lock = await lockStateFolder(settings.stateDir, startedAt, 'quarantine retry');
  try {
    await assertTargetIsOurs(withoutKey(settings));
    const warnings: string[] = [];
    const onWarning = (message: string) => void warnings.push(message);
    const database = await openWarehouse(withoutKey(settings), { clock, signal, onWarning });
    try {
      const runId = await chooseRunId(database, settings.stateDir, options.runId, startedAtMs);
      const run = new RetryRun(settings, options, clock, startedAtMs, database, runId, warnings);
      return await run.execute(streams);
    } finally {
      await database.release();
    }
  } finally {
    lock.release();
  }
}

/** One retry from its first stream to its report. */
class RetryRun {
  readonly #context: RunContext;
  readonly #startedAtMs: number;
  readonly #warnings: string[];
  readonly #retried: RetriedStream[] = [];
  readonly #reports: StreamReport[] = [];
  #hasLoaded = false;

  constructor(
    settings: OfflineSettings,
    options: RetryOptions,
    clock: Clock,
    startedAtMs: number,
    database: Database,
    runId: string,
    warnings: readonly string[],
  ) {
    this.#startedAtMs = startedAtMs;
    this.#warnings = [...settings.warnings, ...warnings];
    this.#context = {
      runId,
      settings: withoutKey(settings),
      options: {},
      clock,
      client: refusingClient,
      database,
      signal: options.signal,
      emit: (event) => {
        if (event.type === 'warning') this.#warnings.push(event.message);
        try {
          options.onProgress?.(event);
        } catch {
          // A display that fails must not change what becomes of the data.
        }
      },
      concurrency: 1,
    };
  }

  async execute(streams: readonly Stream[]): Promise<RetryReport> {
    const { database, emit, runId, settings, signal } = this.#context;
    // An abort must also end a statement that is running: closing under it would hang.
    const interrupt = () => {
      database.interrupt();
    };
    signal?.addEventListener('abort', interrupt, { once: true });
    try {
      closeKilledRunsInFile(settings.stateDir);
      emit({ type: 'run-started', runId, streams: streams.map(({ name }) => name) });
      return await this.#finish(await this.#retryAll(streams));
    } finally {
      signal?.removeEventListener('abort', interrupt);
    }
  }

  /** Retries stream after stream; returns what kept the rest from being tried. */
  async #retryAll(streams: readonly Stream[]): Promise<SyncError | undefined> {
    const { signal } = this.#context;
    for (const stream of streams) {
      for (const slice of await this.#listSlices(stream)) {
        if (signal?.aborted === true) return toAbortError(signal);
        const error = await this.#retry(slice);
        if (error?.recovery === 'stop-run') return explainStop(signal, error);
      }
    }
    return undefined;
  }

  /** The slices of a stream that have records in quarantine; those that left the config are only told of. */
  async #listSlices(stream: Stream): Promise<readonly Stream[]> {
    const { database, emit } = this.#context;
    const rows = await database.all(
      'SELECT slice, count(*) AS n FROM _sluice.quarantine WHERE stream = $1 GROUP BY 1 ORDER BY 1',
      [stream.name],
    );
    const slices = sliceStream(stream);
    return rows.flatMap((row) => {
      const id = String(row['slice']);
      const slice = slices.find((one) => sliceIdOf(one) === id);
      if (slice !== undefined) return [slice];
      const of =
        id === '' ? 'from before it was cut into slices' : `of slice ${id}, which the config no longer has`;
      emit({
        type: 'warning',
        stream: stream.name,
        message: `${Number(row['n'])} records ${of}, stay in quarantine`,
      });
      return [];
    });
  }

  async #retry(stream: Stream): Promise<SyncError | undefined> {
    const { database, clock, runId, emit } = this.#context;
    const startedAtMs = clock.now();
    emit({ type: 'stream-started', stream: nameOf(stream), mode: 'incremental' });
    try {
      const retried = await retrySlice(this.#context, stream, async (slice) => {
        this.#hasLoaded = true;
        const report = this.#describe(stream, startedAtMs, slice, undefined);
        await markGeneration(database, runId);
        await writeStreamRun(database, runId, report);
        await writeRun(database, { ...this.#report(undefined, undefined, [report]), status: 'running' });
      });
      // A log that holds DDL is the one replay has trouble with; the commit stands whatever becomes of this.
      await database.checkpoint().catch(() => undefined);
      this.#add(retried.report, this.#describe(stream, startedAtMs, retried, undefined));
      return undefined;
    } catch (thrown) {
      const error = toSyncError(thrown);
      this.#add(failedRetry(stream, error), this.#describe(stream, startedAtMs, undefined, error));
      return error;
    }
  }

  #add(retried: RetriedStream, report: StreamReport): void {
    this.#retried.push(retried);
    this.#reports.push(report);
    this.#context.emit({ type: 'stream-finished', report });
  }

  async #finish(stop: SyncError | undefined): Promise<RetryReport> {
    const { settings, database, emit, runId, signal } = this.#context;
    let error = stop;
    let published: RunReport['published'];
    try {
      if (this.#hasLoaded) {
        await database.transaction(async () => {
          await markGeneration(database, runId);
          await writeRun(database, this.#report(error, undefined));
        });
      }
      const outcome = signal?.aborted === true ? undefined : await publishRun(this.#context);
      published = outcome?.published;
      if (outcome?.failure !== undefined) throw outcome.failure;
    } catch (thrown) {
      error ??= toSyncError(thrown);
    }
    const report = this.#report(error, published);
    appendRunFile(settings.stateDir, report);
    emit({ type: 'run-finished', report });
    return {
      runId,
      exitCode: report.exitCode,
      streams: this.#retried,
      warnings: this.#warnings,
      published,
      error: error && toReportedError(error),
    };
  }

  #report(
    error: SyncError | undefined,
    published: RunReport['published'],
    more: readonly StreamReport[] = [],
  ): RunReport {
    const streams = [...this.#reports, ...more];
    return reportRun(this.#context, {
      startedAtMs: this.#startedAtMs,
      streams,
      warnings: this.#warnings,
      error,
      published,
      quota: noQuota,
    });
  }

  #describe(
    stream: Stream,
    startedAtMs: number,
    retried: RetriedSlice | undefined,
    error: SyncError | undefined,
  ): StreamReport {
    const started = { atMs: startedAtMs, requests: 0 };
    const report = reportStream(this.#context, stream, started, {
      status: error === undefined ? 'complete' : 'failed',
      reasons: ['records from quarantine'],
      error,
    });
    if (retried === undefined) return report;
    return { ...report, rows: retried.rows, schemaChanges: retried.report.schemaChanges };
  }
}

// A stop asked for explains better than whatever it made fail.
function explainStop(signal: AbortSignal | undefined, error: SyncError): SyncError {
  return signal?.aborted === true ? toAbortError(signal) : error;
}

const NO_ROWS: RowCounts = { read: 0, inserted: 0, updated: 0, unchanged: 0, deleted: 0, quarantined: 0 };

function failedRetry(stream: Stream, error: SyncError): RetriedStream {
  const { inserted, updated, unchanged } = NO_ROWS;
  return {
    stream: stream.name,
    slice: sliceIdOf(stream),
    tried: 0,
    inserted,
    updated,
    unchanged,
    outdated: 0,
    left: 0,
    leftBecause: [],
    schemaChanges: [],
    error: toReportedError(error),
  };
}
