import { readCheckpoint } from '../../state/checkpoints.ts';
import { lockStateFolder, type StateLock } from '../../state/lock.ts';
import { proveTables } from '../../state/prove-state.ts';
import { appendRunFile, closeKilledRunsInFile, readRunFile } from '../../state/run-file.ts';
import { closeKilledRuns, writeRun, writeStreamRun } from '../../state/runs.ts';
import { selectStreams } from '../config/select-streams.ts';
import { toAbortError } from '../model/abort.ts';
import { type Clock, systemClock } from '../model/clock.ts';
import { StrictError, type SyncError, toSyncError } from '../model/errors.ts';
import type { Transport } from '../model/http.ts';
import type { OnProgress, ProgressEvent } from '../model/progress.ts';
import type { RunReport, StreamReport } from '../model/run-report.ts';
import type { Settings, SyncOptions } from '../model/settings.ts';
import { nameOf, nameScan, sliceIdOf, sliceStream, type Stream } from '../model/stream.ts';
import { DamagedFileError } from '../warehouse/database-errors.ts';
import { dropRawStages } from '../storage/drop-raw-stages.ts';
import { refuseSecretId } from '../storage/hide-secrets.ts';
import { judgeIdentity } from '../storage/identity.ts';
import { keepProgress } from './keep-progress.ts';
import { findNothingAvailable, findStrictBreach } from './judge-run.ts';
import { listUnsettled, withoutFreshness } from '../plan/last-attempts.ts';
import { settleLineage } from '../storage/assert-lineage.ts';
import { lockTargets } from '../storage/lock-targets.ts';
import { openApi } from '../run/open-api.ts';
import { assertTargetIsOurs, openWarehouse, replaceDamaged } from '../storage/open-warehouse.ts';
import { PublishMeanwhile } from './publish-meanwhile.ts';
import { markGeneration, publishAndGoOn, publishRun } from './publish.ts';
import { addMissingRuns, chooseRunId, purgeRecords, reportRun } from './record-run.ts';
import { reportStream } from '../run/report-stream.ts';
import type { RunContext } from '../run/run-context.ts';
import { describeClock, openRecordClock } from '../storage/record-times.ts';
import { settleIdentity } from './settle-identity.ts';
import { syncIfDue } from './sync-if-due.ts';
import { createProgressReporter } from './report-progress.ts';
import { maintainArchives } from './maintain-archives.ts';

/** What a run needs from its caller in addition to settings: where to report its progress, and how to be stopped. */
export interface RunEffects {
  readonly onProgress?: OnProgress | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
  readonly transport?: Transport | undefined;
  readonly random?: (() => number) | undefined;
}

/**
 * Syncs every selected stream, one after the other, and publishes what was committed. What fails in a
 * stream is in the report; only what keeps a run from starting is thrown (config, lock, disk).
 */
export async function runSync(
  settings: Settings,
  options: SyncOptions & RunEffects = {},
): Promise<RunReport> {
  const clock = options.clock ?? systemClock;
  refuseSecretId(settings, options.runId);
  const streams = selectStreams(settings, options.streams);
  const lock = await lockStateFolder(settings.stateDir, new Date(clock.now()).toISOString());
  let targets: StateLock | undefined;
  try {
    targets = await lockTargets(settings);
    await dropRawStages(settings);
    await assertTargetIsOurs(settings);
    const told: ProgressEvent[] = [];
    const tell = (type: 'warning' | 'note') => (message: string) => void told.push({ type, message });
    const effects = { clock, signal: options.signal, onWarning: tell('warning'), onNote: tell('note') };
    const database = await openWarehouse(settings, effects);
    try {
      await proveTables(database, database.file, settings.streams);
      await judgeIdentity(settings, database, options);
      await settleLineage(settings, database, effects);
      const recordClock = await openRecordClock(database, clock);
      const runId = await chooseRunId(database, settings.stateDir, options.runId, recordClock.now());
      const run = new SyncRun(settings, options, { clock, recordClock, database, runId });
      return await run.execute(streams, told);
    } finally {
      await database.release();
    }
  } catch (thrown) {
    throw toSyncError(thrown);
  } finally {
    targets?.release();
    lock.release();
  }
}

/** The foundation of a run. */
type RunGround = Pick<RunContext, 'clock' | 'recordClock' | 'database' | 'runId'>;

/** One run from its first stream to its report; owns the connection to the API. */
class SyncRun {
  readonly #context: RunContext;
  readonly #startedAtMs: number;
  readonly #api: ReturnType<typeof openApi>;
  readonly #warnings: string[] = [];
  readonly #reports: StreamReport[] = [];
  /** Streams and slices whose scan was committed. */
  readonly #committed = new Set<string>();
  #isReplaced = false;
  #isClockTold = false;

  constructor(
    settings: Settings,
    options: SyncOptions & RunEffects,
    { clock, recordClock, database, runId }: RunGround,
  ) {
    const tell = keepProgress(settings.stateDir, { runId, clock }, options.onProgress);
    const meanwhile = new PublishMeanwhile(clock, () => publishAndGoOn(this.#context));
    const emit = meanwhile.watch(createProgressReporter(settings, this.#warnings, tell));
    this.#startedAtMs = recordClock.now();
    this.#api = openApi(settings, options, { clock, emit });
    const { signal } = options;
    const concurrency = Math.max(1, Math.min(settings.quotaLimits.burstPerSecond, 16));
    this.#context = {
      runId,
      settings,
      options,
      clock,
      recordClock,
      client: this.#api.client,
      readQuota: () => this.#api.quota.snapshot(),
      database,
      signal,
      meanwhile,
      emit,
      concurrency,
    };
  }

  async execute(streams: readonly Stream[], told: readonly ProgressEvent[]): Promise<RunReport> {
    const { runId, emit, settings, database, signal } = this.#context;
    // An abort must also end a running statement: closing during one would hang.
    const interrupt = () => {
      database.interrupt();
    };
    signal?.addEventListener('abort', interrupt, { once: true });
    try {
      const moved = await settleIdentity(this.#context);
      emit({ type: 'run-started', runId, streams: streams.flatMap(sliceStream).map(nameOf) });
      for (const message of settings.warnings) emit({ type: 'warning', message });
      for (const event of [...told, ...moved]) emit(event);
      this.#tellLedgerWarning();
      closeKilledRunsInFile(settings.stateDir);
      appendRunFile(settings.stateDir, this.#describeSoFar([]));
      return await this.#finish(streams, await this.#syncAll(streams));
    } finally {
      signal?.removeEventListener('abort', interrupt);
      await this.#api.close();
    }
  }

  #warnOfClock(): void {
    const message = this.#isClockTold ? undefined : describeClock(this.#context);
    this.#isClockTold ||= message !== undefined;
    if (message !== undefined) this.#context.emit({ type: 'warning', message });
  }

  #tellLedgerWarning(): void {
    const { warning: message } = this.#api;
    if (message !== undefined && !this.#warnings.includes(message))
      this.#context.emit({ type: 'warning', message });
  }

  async #syncAll(streams: readonly Stream[]): Promise<SyncError | undefined> {
    let runError: SyncError | undefined;
    const unsettled = listUnsettled(this.#context.settings.stateDir);
    for (const stream of streams.flatMap(sliceStream)) {
      if (this.#context.signal?.aborted === true) runError ??= toAbortError(this.#context.signal);
      if (runError !== undefined) {
        this.#reports.push(this.#reportNotRun(stream));
        continue;
      }
      const found = await readCheckpoint(this.#context.database, stream.name, sliceIdOf(stream));
      const held = withoutFreshness(found, unsettled);
      const checkpoint =
        held && held.fingerprint !== stream.fingerprint ? { ...held, cursorState: undefined } : held;
      const outcome = await syncIfDue(this.#context, stream, checkpoint, (report) => this.#saveRun(report));
      this.#reports.push(outcome.report);
      this.#warnOfClock();
      if (outcome.committed) {
        this.#committed.add(nameOf(stream));
        runError ??= this.#saveToRunFile(this.#describeSoFar(this.#reports));
      }
      if (await this.#replaceDamaged(outcome.error)) return this.#syncAll(streams);
      if (outcome.error?.recovery === 'stop-run') runError = outcome.error;
    }
    // A requested stop explains more than the failures it caused.
    const { signal } = this.#context;
    return signal?.aborted === true && runError !== undefined ? toAbortError(signal) : runError;
  }

  /**
   * Continues, once per run, from the published file if the work file turns out to be damaged: what this run
   * committed is lost with it.
   */
  async #replaceDamaged(error: unknown): Promise<boolean> {
    if (!(error instanceof DamagedFileError) || this.#isReplaced) return false;
    this.#isReplaced = true;
    const { database, settings, clock, emit } = this.#context;
    const onWarning = (message: string) => emit({ type: 'warning', message });
    // If that fails as well, the original error ends the run.
    if (!(await replaceDamaged(database, settings, error, { clock, onWarning }).catch(() => false)))
      return false;
    this.#reports.length = 0;
    this.#committed.clear();
    return true;
  }

  #reportNotRun(stream: Stream): StreamReport {
    const { recordClock, client } = this.#context;
    return reportStream(
      this.#context,
      stream,
      { atMs: recordClock.now(), requests: client.usage.requests },
      { status: 'not-run' },
    );
  }

  async #finish(streams: readonly Stream[], runError: SyncError | undefined): Promise<RunReport> {
    const { signal, emit } = this.#context;
    const stopped = () => (signal?.aborted === true ? toAbortError(signal) : undefined);
    // A stop ended the current work; commits must still be recorded.
    this.#context.database.proceed();
    const { settings, options } = this.#context;
    const judged = findNothingAvailable(settings, this.#reports) ?? findStrictBreach(options, this.#warnings);
    let error = runError ?? stopped() ?? judged;
    let published: RunReport['published'];
    try {
      if (this.#committed.size > 0) await this.#saveFinalRun(this.#report(error, undefined));
      // A run that leaves readers without what it committed is not complete.
      error ??= stopped();
      await maintainArchives(this.#context);
      const outcome = signal?.aborted === true ? undefined : await publishRun(this.#context);
      published = outcome?.published;
      if (outcome?.failure !== undefined) throw outcome.failure;
    } catch (thrown) {
      if (await this.#replaceDamaged(thrown)) return this.#finish(streams, await this.#syncAll(streams));
      if (error === undefined || error instanceof StrictError) error = toSyncError(thrown);
    }
    let report = this.#report(error, published);
    const unsaved = this.#saveToRunFile(report);
    if (error === undefined && unsaved !== undefined) report = this.#report(unsaved, published);
    emit({ type: 'run-finished', report });
    return report;
  }

  /** What keeps a run out of the run file must not keep its commits from being published. */
  #saveToRunFile(report: RunReport): SyncError | undefined {
    try {
      appendRunFile(this.#context.settings.stateDir, report);
      return undefined;
    } catch (thrown) {
      return toSyncError(thrown);
    }
  }

  /** The run's row as it stands, with a stream's report that is being committed. */
  async #saveRun(report: StreamReport): Promise<void> {
    const { database, runId, recordClock } = this.#context;
    await markGeneration(database, runId, recordClock.now());
    await writeRun(database, this.#describeSoFar([...this.#reports, report]));
  }

  // A killed run must not look like one that ended.
  #describeSoFar(streams: readonly StreamReport[]): RunReport {
    return { ...this.#report(undefined, undefined, streams), status: 'running' };
  }

  async #saveFinalRun(run: RunReport): Promise<void> {
    const { database, settings, recordClock } = this.#context;
    await database.transaction(async () => {
      await markGeneration(database, run.runId, recordClock.now());
      await writeRun(database, run);
      for (const report of run.streams) {
        if (!this.#committed.has(nameScan(report.stream, report.slice)))
          await writeStreamRun(database, run.runId, report);
      }
      await closeKilledRuns(database, run.runId);
      await addMissingRuns(database, readRunFile(settings.stateDir));
      await purgeRecords(this.#context);
    });
  }

  #report(
    error: SyncError | undefined,
    published: RunReport['published'],
    streams: readonly StreamReport[] = this.#reports,
  ): RunReport {
    const quota = this.#api.quota.snapshot();
    const facts = {
      startedAtMs: this.#startedAtMs,
      streams,
      warnings: this.#warnings,
      error,
      published,
      quota,
    };
    return reportRun(this.#context, facts);
  }
}
