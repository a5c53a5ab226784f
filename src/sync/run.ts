import { readCheckpoint } from '../../state/checkpoints.ts';
import { proveTables } from '../storage/prove-tables.ts';
import { beginRunFile, closeKilledRunsInFile, readRunFile } from '../../state/run-file.ts';
import { closeKilledRuns, hasOpenRuns } from '../../state/runs.ts';
import { selectStreams } from '../config/select-streams.ts';
import { toAbortError } from '../model/abort.ts';
import { StrictError, type SyncError, toSyncError } from '../model/errors.ts';
import type { Transport } from '../model/http.ts';
import type { OpenQuotaStore } from '../model/quota.ts';
import type { RunObserver } from '../model/run-observer.ts';
import type { RunReport, StreamReport } from '../model/run-report.ts';
import type { Settings, SyncOptions } from '../model/settings.ts';
import { nameOf, nameScan, sliceIdOf, sliceStream, type Stream } from '../model/stream.ts';
import { dropFirst } from '../warehouse/incoming.ts';
import { interruptOnAbort } from '../warehouse/interrupt-on-abort.ts';
import { dropRawStages } from '../storage/drop-raw-stages.ts';
import { refuseSecretId } from '../storage/hide-secrets.ts';
import { judgeIdentity } from '../storage/identity.ts';
import { keepProgress } from './keep-progress.ts';
import { findNothingAvailable, findStrictBreach } from './decide-exit-code.ts';
import { listUnsettled, withoutFreshness } from '../plan/last-attempts.ts';
import { settleLineage } from '../storage/assert-lineage.ts';
import { type OpenedApi, openApi } from '../run/open-api.ts';
import { PublishMeanwhile } from './publish-meanwhile.ts';
import { publishAndGoOn, publishRun } from './publish.ts';
import { addMissingRuns, purgeRecords } from './record-run.ts';
import { RunLog } from './run-log.ts';
import { type RunStart, type Session, type SessionEffects, withSession } from './session.ts';
import { reportStream } from '../run/report-stream.ts';
import type { RunContext } from '../run/run-context.ts';
import { describeClock } from '../storage/record-times.ts';
import { settleIdentity } from './settle-identity.ts';
import { syncIfDue } from './sync-if-due.ts';
import { createProgressReporter, observeWith } from './report-progress.ts';
import { maintainArchives } from './maintain-archives.ts';

/** What a run needs from its caller in addition to settings: where to report its progress, and how to be stopped. */
export interface RunEffects extends SessionEffects {
  readonly transport?: Transport | undefined;
  readonly random?: (() => number) | undefined;
  /** Opens where the key's quota is kept if it is not a ledger of this machine. */
  readonly openQuotaStore?: OpenQuotaStore | undefined;
  /** They see the events of the run; the caller tells them how it ended. */
  readonly observers?: readonly RunObserver[] | undefined;
}

/**
 * Syncs every selected stream, one after the other, and publishes what was committed. What fails in a
 * stream is in the report; only what keeps a run from starting is thrown (config, lock, disk).
 */
export function runSync(settings: Settings, options: SyncOptions & RunEffects = {}): Promise<RunReport> {
  refuseSecretId(settings, options.runId);
  const streams = selectStreams(settings, options.streams);
  return withSession(settings, options, {
    publishes: true,
    prepare: dropRawStages,
    work: async (session) => {
      const { database } = session;
      await proveTables(database, settings.streams);
      await judgeIdentity(settings, database, options);
      await settleLineage(settings, database, session.effects);
      const run = await SyncRun.begin(session, await session.beginRun(options.runId), options);
      return run.execute(streams);
    },
  });
}

/** One run from its first stream to its report; owns the connection to the API. */
class SyncRun {
  readonly #session: Session;
  readonly #context: RunContext;
  readonly #log: RunLog;
  readonly #api: OpenedApi;
  /** Streams and slices whose scan was committed. */
  readonly #committed = new Set<string>();
  #isClockTold = false;

  private constructor(
    session: Session,
    { context, api, log }: { readonly context: RunContext; readonly api: OpenedApi; readonly log: RunLog },
  ) {
    this.#session = session;
    this.#context = context;
    this.#api = api;
    this.#log = log;
  }

  static async begin(
    session: Session,
    { runId, recordClock, startedAtMs }: RunStart,
    options: SyncOptions & RunEffects,
  ): Promise<SyncRun> {
    const { settings, database } = session;
    const { clock, signal } = session.effects;
    // Before this run's progress takes the place of theirs.
    closeKilledRunsInFile(settings.stateDir);
    const warnings: string[] = [];
    const meanwhile = new PublishMeanwhile(clock, () => publishAndGoOn(context));
    const observers = [
      keepProgress(settings.stateDir, { runId, clock }),
      ...observeWith(options.onProgress),
      ...(options.observers ?? []),
      meanwhile,
    ];
    const emit = createProgressReporter(settings, warnings, observers);
    const api = await openApi(settings, options, { clock, emit });
    const context: RunContext = {
      runId,
      settings,
      options,
      clock,
      recordClock,
      source: api.source,
      database,
      signal,
      lost: session.effects.lost,
      lease: session.effects.lease,
      meanwhile,
      emit,
      concurrency: Math.max(1, Math.min(settings.quotaLimits.burstPerSecond, 16)),
    };
    return new SyncRun(session, { context, api, log: new RunLog(context, startedAtMs, warnings) });
  }

  async execute(streams: readonly Stream[]): Promise<RunReport> {
    const { runId, emit, settings, database, signal } = this.#context;
    try {
      return await interruptOnAbort(database, signal, async () => {
        const moved = await settleIdentity(this.#context);
        emit({ type: 'run-started', runId, streams: streams.flatMap(sliceStream).map(nameOf) });
        for (const message of settings.warnings) emit({ type: 'warning', message });
        for (const event of [...this.#session.noticed, ...moved]) emit(event);
        this.#tellLedgerWarning();
        beginRunFile(settings.stateDir, this.#log.describeSoFar());
        return this.#finish(streams, await this.#syncAll(streams));
      });
    } finally {
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
    if (message !== undefined && !this.#log.warnings.includes(message))
      this.#context.emit({ type: 'warning', message });
  }

  async #syncAll(streams: readonly Stream[]): Promise<SyncError | undefined> {
    let runError: SyncError | undefined;
    const unsettled = listUnsettled(this.#context.settings.stateDir);
    for (const stream of streams.flatMap(sliceStream)) {
      if (this.#context.signal?.aborted === true) runError ??= toAbortError(this.#context.signal);
      if (runError !== undefined) {
        this.#log.add(this.#reportNotRun(stream));
        continue;
      }
      const found = await readCheckpoint(this.#context.database, stream.name, sliceIdOf(stream));
      const held = withoutFreshness(found, unsettled);
      const checkpoint =
        held && held.fingerprint !== stream.fingerprint ? { ...held, cursorState: undefined } : held;
      const save = (report: StreamReport) => this.#log.saveSoFar([report]);
      const outcome = await syncIfDue(this.#context, stream, checkpoint, save);
      this.#log.add(outcome.report);
      this.#warnOfClock();
      // A server that keeps the quota can fail, and come back, at any time.
      this.#tellLedgerWarning();
      if (outcome.committed) {
        this.#committed.add(nameOf(stream));
        runError ??= this.#log.writeToFile(this.#log.describeSoFar());
      }
      if (await this.#replaceDamaged(outcome.error)) return this.#syncAll(streams);
      if (outcome.error?.recovery === 'stop-run') runError = outcome.error;
    }
    // A requested stop explains more than the failures it caused.
    const { signal } = this.#context;
    return signal?.aborted === true && runError !== undefined ? toAbortError(signal) : runError;
  }

  /** Continues, once per run, from what is published if the work file turns out to be damaged. */
  async #replaceDamaged(error: unknown): Promise<boolean> {
    const onWarning = (message: string) => this.#context.emit({ type: 'warning', message });
    // If that fails as well, the original error ends the run.
    if (!(await this.#session.replaceDamaged(error, onWarning).catch(() => false))) return false;
    this.#log.clear();
    this.#committed.clear();
    return true;
  }

  #reportNotRun(stream: Stream): StreamReport {
    const { recordClock, source } = this.#context;
    return reportStream(
      this.#context,
      stream,
      { atMs: recordClock.now(), requests: source.client.usage.requests },
      { status: 'not-run' },
    );
  }

  async #finish(streams: readonly Stream[], runError: SyncError | undefined): Promise<RunReport> {
    const { signal, emit } = this.#context;
    const stopped = () => (signal?.aborted === true ? toAbortError(signal) : undefined);
    emit({ type: 'reading-finished' });
    // A stop ended the current work; commits must still be recorded.
    const { settings, options, database, runId } = this.#context;
    database.proceed();
    const { reports, warnings } = this.#log;
    const judged = findNothingAvailable(settings, reports) ?? findStrictBreach(options, warnings);
    let error = runError ?? stopped() ?? judged;
    let published: RunReport['published'];
    try {
      // A stop may have kept the rows of a scan in the file.
      await dropFirst(database);
      if (this.#committed.size > 0 || (await hasOpenRuns(database, runId))) await this.#saveEnd(error);
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
    const written = this.#log.describe({ error, published });
    const unsaved = this.#log.writeToFile(written);
    const report =
      error === undefined && unsaved !== undefined
        ? this.#log.describe({ error: unsaved, published })
        : written;
    emit({ type: 'run-finished', report });
    return report;
  }

  #saveEnd(error: SyncError | undefined): Promise<void> {
    const { database, settings, runId } = this.#context;
    const isUncommitted = ({ stream, slice }: StreamReport) => !this.#committed.has(nameScan(stream, slice));
    return this.#log.saveEnd(error, isUncommitted, async () => {
      await addMissingRuns(database, readRunFile(settings.stateDir));
      await closeKilledRuns(database, runId);
      await purgeRecords(this.#context);
    });
  }
}
