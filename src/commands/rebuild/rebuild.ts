import { existsSync } from 'node:fs';
import { workFile } from '../../../state/work-file.ts';
import { systemClock } from '../../model/clock.ts';
import { selectStreams } from '../../config/select-streams.ts';
import { type SyncError, toSyncError } from '../../model/errors.ts';
import type { RebuildReport, RebuiltStream } from '../../model/reports.ts';
import { type StreamReport, toReportedError } from '../../model/run-report.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import type { SqlSession } from '../../model/sql.ts';
import type { Stream } from '../../model/stream.ts';
import { correctLoadTimes, findArchive, leadOut, type SliceArchive } from './find-archive.ts';
import { assertOwnReaders, readHeldRows } from './judge-readers.ts';
import { maskArchives } from './mask-archives.ts';
import { listWarnings, lookOffline, type OfflineRun, runOffline } from '../offline-run.ts';
import { decideExitCode } from '../../sync/decide-exit-code.ts';
import type { Session, SessionEffects } from '../../sync/session.ts';
import { scheduleCompaction } from '../../../state/rewrite-mark.ts';
import { emptyStream, failedStream, plannedStream, rebuiltStream, toStreamReport } from './rebuild-report.ts';
import { measureArchives, type RebuiltTable, rebuildTable } from './rebuild-stream.ts';
import { withState } from '../../storage/with-held.ts';
import type { Database } from '../../warehouse/database.ts';
import { replaceByCopy } from '../../storage/work-copy.ts';

export interface RebuildOptions extends SessionEffects {
  readonly streams?: readonly string[];
  /** Leave out rows that are not in the archive. */
  readonly archivedOnly?: boolean;
  /** Only report what would be loaded. */
  readonly dryRun?: boolean;
  readonly runId?: string;
}

/**
 * Rebuilds the tables of the selected streams from their archived pages, without a request, and publishes them. Each
 * stream is replaced completely or not at all. Failures of a stream are in the report; only errors that keep the
 * rebuild from starting are thrown.
 */
export async function rebuildStreams(
  settings: OfflineSettings,
  options: RebuildOptions = {},
): Promise<RebuildReport> {
  const { archivedOnly = false, dryRun, runId } = options;
  const streams = selectStreams(settings, options.streams);
  const command = { name: 'rebuild', runId, replaces: streams.map(({ name }) => name) };
  if (dryRun === true) return lookAtArchives(settings, command, streams, options);
  return runOffline(settings, command, options, (run) => new Rebuild(run, archivedOnly).execute(streams));
}

/** Without a state, what is published says where the archive ends, and none is created. */
async function lookAtArchives(
  settings: OfflineSettings,
  command: Parameters<typeof lookOffline>[1],
  streams: readonly Stream[],
  options: RebuildOptions,
): Promise<RebuildReport> {
  const { signal, clock = systemClock } = options;
  const plan = ({ database, noticed }: Looked) =>
    planRebuild(streams, (stream) => findAllowed(settings, database, stream, signal), {
      nowMs: clock.now(),
      warnings: listWarnings({ settings, noticed }),
    });
  if (existsSync(workFile(settings.stateDir))) return lookOffline(settings, command, options, plan);
  const held = await withState(settings, (database) => plan({ database, noticed: [] }));
  return held ?? plan({ database: undefined, noticed: [] });
}

const NO_STATE: SqlSession = { run: () => Promise.resolve(), all: () => Promise.resolve([]) };

interface Looked extends Pick<Session, 'noticed'> {
  readonly database: Database | undefined;
}

/** Throws what a rebuild would. */
async function findAllowed(
  settings: OfflineSettings,
  database: Database | undefined,
  stream: Stream,
  signal: AbortSignal | undefined,
): Promise<readonly SliceArchive[]> {
  if (database === undefined) return findArchive(settings, NO_STATE, stream, signal);
  try {
    const archives = await findArchive(settings, database, stream, signal);
    assertOwnReaders(archives, await readHeldRows(database, stream));
    return archives;
  } catch (thrown) {
    throw await leadOut({ database, settings }, stream, thrown);
  }
}

async function planRebuild(
  streams: readonly Stream[],
  find: (stream: Stream) => ReturnType<typeof findArchive>,
  { nowMs, warnings }: { readonly nowMs: number; readonly warnings: readonly string[] },
): Promise<RebuildReport> {
  const planned: RebuiltStream[] = [];
  for (const stream of streams) {
    try {
      const archives = correctLoadTimes(await find(stream), nowMs);
      planned.push(archives.length === 0 ? emptyStream(stream) : plannedStream(stream, archives));
    } catch (thrown) {
      planned.push(failedStream(stream, toSyncError(thrown)));
    }
  }
  return {
    dryRun: true,
    runId: undefined,
    exitCode: decideExitCode(planned.map(asIfRun), undefined),
    streams: planned,
    warnings,
    published: undefined,
    error: undefined,
  };
}

/** What a rebuild would report of a stream, as far as its exit code depends on it. */
function asIfRun({ status, error }: RebuiltStream): Pick<StreamReport, 'status' | 'error'> {
  return { status: status === 'planned' ? 'complete' : 'failed', error };
}

/** The streams of one rebuild. */
class Rebuild {
  readonly #run: OfflineRun;
  readonly #archivedOnly: boolean;
  readonly #rebuilt: RebuiltStream[] = [];

  constructor(run: OfflineRun, archivedOnly: boolean) {
    this.#run = run;
    this.#archivedOnly = archivedOnly;
  }

  async execute(streams: readonly Stream[]): Promise<RebuildReport> {
    const { emit, runId } = this.#run.context;
    emit({ type: 'run-started', runId, streams: streams.map(({ name }) => name) });
    let stop: SyncError | undefined;
    for (const stream of streams) {
      stop ??= this.#run.findStop();
      if (stop !== undefined) this.#rebuilt.push({ ...emptyStream(stream), status: 'not-run' });
      else stop = await this.#rebuild(stream);
    }
    const { report, error } = await this.#run.finish(stop);
    return {
      dryRun: false,
      runId,
      exitCode: report.exitCode,
      streams: this.#rebuilt,
      warnings: this.#run.warnings,
      published: report.published,
      error: error && toReportedError(error),
    };
  }

  /** Rebuilds one stream; returns what keeps the others from being rebuilt. */
  async #rebuild(stream: Stream): Promise<SyncError | undefined> {
    const { settings, database, emit, recordClock, signal } = this.#run.context;
    const startedAtMs = recordClock.now();
    let archives: readonly SliceArchive[] = [];
    try {
      const found = await findArchive(settings, database, stream, signal);
      archives = correctLoadTimes(found, startedAtMs);
      if (archives.length === 0) {
        this.#rebuilt.push(emptyStream(stream));
        return undefined;
      }
      emit({ type: 'stream-started', stream: stream.name, mode: 'full' });
      const { table, report } = await this.#replaceTable(stream, archives, startedAtMs);
      this.#run.add(report);
      // A header's name has the time in it.
      await maskArchives(this.#run.context, found);
      this.#rebuilt.push(rebuiltStream(stream, archives, table));
      return undefined;
    } catch (thrown) {
      const error = await this.#run.judge(await leadOut({ database, settings }, stream, thrown));
      this.#rebuilt.push(failedStream(stream, error, archives));
      this.#run.add(this.#describe(stream, startedAtMs, undefined, error));
      // One stream's archive says nothing about another's.
      return error.code.startsWith('archive_') || error.recovery !== 'stop-run' ? undefined : error;
    }
  }

  async #replaceTable(
    stream: Stream,
    archives: readonly SliceArchive[],
    startedAtMs: number,
  ): Promise<{ readonly table: RebuiltTable; readonly report: StreamReport }> {
    const { settings, database, emit, signal } = this.#run.context;
    const planned = measureArchives(archives);
    return replaceByCopy(settings.stateDir, database, signal, async (copy, stage) => {
      const context = { ...this.#run.context, database: copy };
      const table = await rebuildTable(context, stream, archives, {
        stage,
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
        // The file still contains the bytes of the old table, possibly of fields that are now masked.
        await scheduleCompaction(copy);
        await this.#run.save([report], copy);
      });
      return { table, report };
    });
  }

  #describe(
    stream: Stream,
    startedAtMs: number,
    rebuilt: RebuiltTable | undefined,
    error: SyncError | undefined,
  ): StreamReport {
    const times = { startedAtMs, finishedAtMs: this.#run.context.recordClock.now() };
    return toStreamReport(stream, times, rebuilt, error);
  }
}
