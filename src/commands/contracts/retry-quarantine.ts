import { selectStreams } from '../../config/select-streams.ts';
import type { SyncError } from '../../model/errors.ts';
import type { RetriedStream, RetryReport } from '../../model/quarantine-report.ts';
import { noRows, type StreamReport, toReportedError } from '../../model/run-report.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import { nameOf, sliceIdOf, sliceStream, type Stream } from '../../model/stream.ts';
import { type OfflineRun, runOffline } from '../offline-run.ts';
import type { SessionEffects } from '../../sync/session.ts';
import { reportStream } from '../../run/report-stream.ts';
import { type RetriedSlice, retrySlice } from './retry-slice.ts';
import { formatCountOf, verbOf } from '../../text/format-count.ts';

export interface RetryOptions extends SessionEffects {
  readonly streams?: readonly string[];
  readonly runId?: string;
}

/**
 * Retries the quarantined records of the selected streams with the current contract and publishes what was loaded,
 * without a request. Failures of a stream are in the report; only errors that keep the run from starting are thrown.
 */
export async function retryQuarantine(
  settings: OfflineSettings,
  options: RetryOptions = {},
): Promise<RetryReport> {
  const streams = selectStreams(settings, options.streams);
  const command = { name: 'quarantine retry', runId: options.runId };
  return runOffline(settings, command, options, (run) => new Retry(run).execute(streams));
}

/** The retries of one run. */
class Retry {
  readonly #run: OfflineRun;
  readonly #retried: RetriedStream[] = [];

  constructor(run: OfflineRun) {
    this.#run = run;
  }

  async execute(streams: readonly Stream[]): Promise<RetryReport> {
    const { emit, runId } = this.#run.context;
    emit({ type: 'run-started', runId, streams: streams.map(({ name }) => name) });
    const { report, error } = await this.#run.finish(await this.#retryAll(streams));
    return {
      runId,
      exitCode: report.exitCode,
      streams: this.#retried,
      warnings: this.#run.warnings,
      published: report.published,
      error: error && toReportedError(error),
    };
  }

  /** Retries stream after stream; returns what kept the rest from being tried. */
  async #retryAll(streams: readonly Stream[]): Promise<SyncError | undefined> {
    for (const stream of streams) {
      for (const slice of await this.#listSlices(stream)) {
        const stop = this.#run.findStop();
        if (stop !== undefined) return stop;
        const error = await this.#retry(slice);
        if (error?.recovery === 'stop-run') return this.#run.findStop() ?? error;
      }
    }
    return undefined;
  }

  /** The slices of a stream with records in quarantine; slices removed from the config are only reported. */
  async #listSlices(stream: Stream): Promise<readonly Stream[]> {
    const { database, emit } = this.#run.context;
    const rows = await database.all(
      'SELECT slice, count(*) AS n FROM _sluice.quarantine WHERE stream = $1 GROUP BY 1 ORDER BY 1',
      [stream.name],
    );
    const slices = sliceStream(stream);
    return rows.flatMap((row) => {
      const id = String(row['slice']);
      const slice = slices.find((one) => sliceIdOf(one) === id);
      if (slice !== undefined) return [slice];
      const count = Number(row['n']);
      const of = id === '' ? 'from before it was sliced' : `of slice ${id}, which the config no longer has`;
      emit({
        type: 'warning',
        stream: stream.name,
        message: `${formatCountOf(count, 'record')} ${of}, ${verbOf(count, 'stays', 'stay')} in quarantine`,
      });
      return [];
    });
  }

  async #retry(stream: Stream): Promise<SyncError | undefined> {
    const run = this.#run;
    const { database, recordClock, emit } = run.context;
    const startedAtMs = recordClock.now();
    emit({ type: 'stream-started', stream: nameOf(stream), mode: 'incremental' });
    try {
      const retried = await retrySlice(run.context, stream, (slice) =>
        run.save([this.#describe(stream, startedAtMs, slice, undefined)]),
      );
      // The engine may fail to replay a log with DDL; the commit is valid even if this fails.
      await database.settleLog().catch(() => undefined);
      this.#retried.push(retried.report);
      run.add(this.#describe(stream, startedAtMs, retried, undefined));
      return undefined;
    } catch (thrown) {
      const error = await run.judge(thrown);
      this.#retried.push(failedRetry(stream, error));
      run.add(this.#describe(stream, startedAtMs, undefined, error));
      return error;
    }
  }

  #describe(
    stream: Stream,
    startedAtMs: number,
    retried: RetriedSlice | undefined,
    error: SyncError | undefined,
  ): StreamReport {
    const started = { atMs: startedAtMs, requests: 0 };
    const report = reportStream(this.#run.context, stream, started, {
      status: error === undefined ? 'complete' : 'failed',
      mode: 'retry',
      reasons: ['records from quarantine'],
      error,
    });
    if (retried === undefined) return report;
    return { ...report, rows: retried.rows, schemaChanges: retried.report.schemaChanges };
  }
}

function failedRetry(stream: Stream, error: SyncError): RetriedStream {
  const { inserted, updated, unchanged } = noRows;
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
