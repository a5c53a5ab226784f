import { lockStateFolder } from '../../../state/lock.ts';
import { appendRunFile, closeKilledRunsInFile } from '../../../state/run-file.ts';
import { writeRun, writeStreamRun } from '../../../state/runs.ts';
import { selectStreams } from '../../config/select-streams.ts';
import { toAbortError } from '../../model/abort.ts';
import { type Clock, systemClock } from '../../model/clock.ts';
import { type SyncError, toSyncError } from '../../model/errors.ts';
import type { OnProgress } from '../../model/progress.ts';
import { noQuota } from '../../model/quota.ts';
import type { RebuildReport, RebuiltStream } from '../../model/reports.ts';
import { type RunReport, type StreamReport, toReportedError } from '../../model/run-report.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import type { Stream } from '../../model/stream.ts';
import type { Database } from '../../warehouse/database.ts';
import { findArchive, type SliceArchive } from './find-archive.ts';
import { maskArchives } from './mask-archives.ts';
import { assertTargetIsOurs, openWarehouse } from '../open-warehouse.ts';
import { askForRewrite, markGeneration, publishRun } from '../publish.ts';
import { emptyStream, failedStream, plannedStream, rebuiltStream, toStreamReport } from './rebuild-report.ts';
import { measureArchives, type RebuiltTable, rebuildTable } from './rebuild-stream.ts';
import { chooseRunId, reportRun } from '../record-run.ts';
import { refusingClient, withoutKey } from '../refuse-requests.ts';
import type { RunContext } from '../run-context.ts';
import { replaceByCopy } from './work-copy.ts';

export interface RebuildOptions {
  readonly streams?: readonly string[];
  /** Leave rows out that the archive does not hold. */
  readonly archivedOnly?: boolean;
  /** Only tell what would be loaded. */
  readonly dryRun?: boolean;
  readonly runId?: string;
  readonly onProgress?: OnProgress | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * Makes the tables of the selected streams anew from their archived pages, without a request, and publishes
 * them. Each stream is replaced as a whole or not at all. What fails in a stream is in the report; only what
 * keeps the rebuild from starting is thrown.
 */
export async function rebuildStreams(
  settings: OfflineSettings,
  options: RebuildOptions = {},
): Promise<RebuildReport> {
  const { clock = systemClock, signal } = options;
  const streams = selectStreams(settings, options.streams);
  const startedAtMs = clock.now();
  const lock = await lockStateFolder(settings.stateDir, new Date(startedAtMs).toISOString(), 'rebuild');
  try {
    if (options.dryRun !== true) await assertTargetIsOurs(withoutKey(settings));
    const warnings: string[] = [];
    const onWarning = (message: string) => void warnings.push(message);
    const database = await openWarehouse(withoutKey(settings), { clock, signal, onWarning });
    try {
      if (options.dryRun === true) return await planRebuild(settings, database, streams, warnings, signal);
      const runId = await chooseRunId(database, settings.stateDir, options.runId, startedAtMs);
      const run = new RebuildRun(settings, options, clock, startedAtMs, database, runId, warnings);
      return await run.execute(streams);
    } finally {
      await database.release();
    }
  } finally {
    lock.release();
  }
}

async function planRebuild(
  settings: OfflineSettings,
  database: Database,
  streams: readonly Stream[],
  warnings: readonly string[],
  signal: AbortSignal | undefined,
): Promise<RebuildReport> {
  const planned: RebuiltStream[] = [];
  for (const stream of streams) {
    try {
      const archives = await findArchive(settings, database, stream, signal);
      planned.push(archives.length === 0 ? emptyStream(stream) : plannedStream(stream, archives));
    } catch (thrown) {
      planned.push(failedStream(stream, toSyncError(thrown)));
    }
  }
  const failed = planned.flatMap(({ error }) => error ?? []);
  const exitCode = failed[0]?.exitCode ?? 0;
  const error = undefined;
  return {
    dryRun: true,
    runId: undefined,
    exitCode,
    streams: planned,
    warnings,
    published: undefined,
    error,
  };
}

/** One rebuild from its first stream to its report. */
class RebuildRun {
  readonly #context: RunContext;
  readonly #startedAtMs: number;
  readonly #archivedOnly: boolean;
  readonly #warnings: string[];
  readonly #reports: StreamReport[] = [];
  readonly #rebuilt: RebuiltStream[] = [];

  constructor(
    settings: OfflineSettings,
    options: RebuildOptions,
    clock: Clock,
    startedAtMs: number,
    database: Database,
    runId: string,
    warnings: readonly string[],
  ) {
    this.#startedAtMs = startedAtMs;
    this.#archivedOnly = options.archivedOnly === true;
    this.#warnings = [...warnings];
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

  async execute(streams: readonly Stream[]): Promise<RebuildReport> {
    const { runId, emit, settings, signal } = this.#context;
    emit({ type: 'run-started', runId, streams: streams.map(({ name }) => name) });
    for (const message of [...settings.warnings]) emit({ type: 'warning', message });
    closeKilledRunsInFile(settings.stateDir);
    let stop: SyncError | undefined;
    for (const stream of streams) {
      if (signal?.aborted === true) stop ??= toAbortError(signal);
      if (stop !== undefined) this.#rebuilt.push({ ...emptyStream(stream), status: 'not-run' });
      else stop = await this.#rebuild(stream);
    }
    return this.#finish(stop);
  }

  /** Rebuilds one stream; returns what keeps the others from being rebuilt. */
  async #rebuild(stream: Stream): Promise<SyncError | undefined> {
    const { settings, database, emit, clock, signal } = this.#context;
    const startedAtMs = clock.now();
    let archives: readonly SliceArchive[] = [];
    try {
      archives = await findArchive(settings, database, stream, signal);
      if (archives.length === 0) {
        this.#rebuilt.push(emptyStream(stream));
        return undefined;
      }
      emit({ type: 'stream-started', stream: stream.name, mode: 'full' });
      const { table, report } = await this.#replaceTable(stream, archives, startedAtMs);
      this.#reports.push(report);
      emit({ type: 'stream-finished', report });
      await maskArchives(this.#context, archives);
      this.#rebuilt.push(rebuiltStream(stream, archives, table));
      return undefined;
    } catch (thrown) {
      const error = toSyncError(thrown);
      this.#rebuilt.push(failedStream(stream, error, archives));
      const report = this.#describe(stream, startedAtMs, undefined, error);
      this.#reports.push(report);
      emit({ type: 'stream-finished', report });
      // One stream's archive says nothing about another's.
      return error.code.startsWith('archive_') || error.recovery !== 'stop-run' ? undefined : error;
    }
  }

  async #replaceTable(
    stream: Stream,
    archives: readonly SliceArchive[],
    startedAtMs: number,
  ): Promise<{ readonly table: RebuiltTable; readonly report: StreamReport }> {
    const { settings, database, emit, runId, signal } = this.#context;
    const planned = measureArchives(archives);
    return replaceByCopy(settings.stateDir, database, signal, async (copy, stage) => {
      const context = { ...this.#context, database: copy };
      const table = await rebuildTable(context, stream, archives, stage, {
        archivedOnly: this.#archivedOnly,
        onReplayed: ({ pages, records }) => {
          emit({
            type: 'page-staged',
            stream: stream.name,
            pagesDone: pages,
            pagesPlanned: planned.pages,
            rowsDone: records,
            rowsDeclared: planned.records,
          });
        },
      });
      const report = this.#describe(stream, startedAtMs, table, undefined);
      await copy.transaction(async () => {
        await markGeneration(copy, runId);
        // The bytes of the table as it was, and maybe of fields that are masked by now, are in the file still.
        await askForRewrite(copy);
        await writeStreamRun(copy, runId, report);
        await writeRun(copy, { ...this.#report(undefined, undefined, [report]), status: 'running' });
      });
      return { table, report };
    });
  }

  async #finish(stop: SyncError | undefined): Promise<RebuildReport> {
    const { settings, database, emit, runId, signal } = this.#context;
    let error = stop;
    let published: RunReport['published'];
    try {
      if (this.#rebuilt.some(({ status }) => status === 'rebuilt')) {
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
    // With nothing to load nothing happened that anybody would look for.
    if (this.#reports.length > 0) appendRunFile(settings.stateDir, report);
    emit({ type: 'run-finished', report });
    return {
      dryRun: false,
      runId,
      exitCode: report.exitCode,
      streams: this.#rebuilt,
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
    const facts = {
      startedAtMs: this.#startedAtMs,
      streams,
      warnings: this.#warnings,
      error,
      published,
      quota: noQuota,
    };
    return reportRun(this.#context, facts);
  }

  #describe(
    stream: Stream,
    startedAtMs: number,
    rebuilt: RebuiltTable | undefined,
    error: SyncError | undefined,
  ): StreamReport {
    const times = { startedAtMs, finishedAtMs: this.#context.clock.now() };
    return toStreamReport(stream, times, rebuilt, error);
  }
}
