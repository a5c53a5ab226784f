import { lockStateFolder, type StateLock } from '../../state/lock.ts';
import { proveTables } from '../../state/prove-state.ts';
import { appendRunFile, closeKilledRunsInFile } from '../../state/run-file.ts';
import { writeRun, writeStreamRun } from '../../state/runs.ts';
import { toAbortError } from '../model/abort.ts';
import { type Clock, systemClock } from '../model/clock.ts';
import { type SyncError, toSyncError } from '../model/errors.ts';
import type { OnProgress } from '../model/progress.ts';
import type { RecordClock } from '../model/record-clock.ts';
import { noQuota } from '../model/quota.ts';
import type { RunReport, StreamReport } from '../model/run-report.ts';
import type { OfflineSettings, Settings } from '../model/settings.ts';
import type { Database } from '../warehouse/database.ts';
import { DamagedFileError } from '../warehouse/database-errors.ts';
import { assertOwnLineage } from '../storage/assert-lineage.ts';
import { refuseMove } from '../storage/identity.ts';
import { assertTargetIsOurs, openWarehouse, replaceDamaged } from '../storage/open-warehouse.ts';
import { lockTargets } from '../storage/lock-targets.ts';
import { markGeneration, publishRun } from '../sync/publish.ts';
import { chooseRunId, reportRun } from '../sync/record-run.ts';
import { openRecordClock } from '../storage/record-times.ts';
import { refusingClient, withoutKey } from '../run/refuse-requests.ts';
import { listStateSources } from '../storage/restore-work-file.ts';
import type { RunContext } from '../run/run-context.ts';

/** What an offline command needs from its caller in addition to settings. */
export interface OfflineEffects {
  readonly onProgress?: OnProgress | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
}

export interface OfflineCommand {
  /** As users type it: shown to processes that wait for the state lock. */
  readonly name: string;
  readonly runId?: string | undefined;
  /** Prefix of generated run ids. */
  readonly idPrefix?: string;
  /** Streams whose tables it rebuilds or drops: these tables may be missing. */
  readonly replaces?: readonly string[];
}

/** The work file of a command that holds the state lock, and what was noticed when it was opened. */
export interface OpenedState {
  readonly settings: Settings;
  readonly database: Database;
  readonly clock: Clock;
  readonly recordClock: RecordClock;
  readonly startedAtMs: number;
  readonly warnings: string[];
}

/** How a run without requests ended. */
export interface OfflineEnd {
  readonly report: RunReport;
  readonly error: SyncError | undefined;
}

/** Takes the state lock and opens the work file for a read-only command. */
export async function lookOffline<T>(
  settings: OfflineSettings,
  command: Pick<OfflineCommand, 'name'>,
  effects: OfflineEffects,
  use: (opened: OpenedState) => Promise<T>,
): Promise<T> {
  return holdState(settings, command, effects, { begin: () => Promise.resolve(undefined), use });
}

/** What is done while the state lock is held. */
interface HeldWork<T> {
  /** Before the work file is opened; the lock it returns is released at the end. */
  readonly begin: (settings: Settings) => Promise<StateLock | undefined>;
  readonly use: (opened: OpenedState) => Promise<T>;
}

async function holdState<T>(
  settings: OfflineSettings,
  { name }: Pick<OfflineCommand, 'name'>,
  { clock = systemClock, signal }: OfflineEffects,
  { begin, use }: HeldWork<T>,
): Promise<T> {
  const startedAtMs = clock.now();
  const lock = await lockStateFolder(settings.stateDir, new Date(startedAtMs).toISOString(), name);
  let targets: StateLock | undefined;
  try {
    const full = withoutKey(settings);
    targets = await begin(full);
    const warnings = [...settings.warnings];
    const tell = (message: string) => void warnings.push(message);
    const database = await openWarehouse(full, { clock, signal, onWarning: tell, onNote: tell });
    try {
      const recordClock = await openRecordClock(database, clock);
      return await use({
        settings: full,
        database,
        clock,
        recordClock,
        startedAtMs: recordClock.now(),
        warnings,
      });
    } finally {
      await database.release();
    }
  } finally {
    targets?.release();
    lock.release();
  }
}

/**
 * Runs a command that changes committed data without the API. It rejects what a sync rejects at its start. If the
 * work file turns out to be damaged, it restores it from what is published and repeats the work once. `work` ends
 * with `finish`, which publishes and records the run.
 */
export async function runOffline<T>(
  settings: OfflineSettings,
  command: OfflineCommand,
  effects: OfflineEffects,
  work: (run: OfflineRun) => Promise<T>,
): Promise<T> {
  const use = async (opened: OpenedState): Promise<T> => {
    const begin = async (mayRestore: boolean) =>
      (await beginRun(opened, command, effects, mayRestore)).do(work);
    const { database, clock, warnings } = opened;
    try {
      return await begin(listStateSources(opened.settings).length > 0);
    } catch (thrown) {
      if (!(thrown instanceof DamagedFileError)) throw thrown;
      const onWarning = (message: string) => void warnings.push(message);
      if (!(await replaceDamaged(database, opened.settings, thrown, { clock, onWarning }))) throw thrown;
      return begin(false);
    }
  };
  return holdState(settings, command, effects, { begin: takeTargets, use });
}

async function takeTargets(settings: Settings): Promise<StateLock> {
  const targets = await lockTargets(settings);
  try {
    await assertTargetIsOurs(settings);
    return targets;
  } catch (error) {
    targets.release();
    throw error;
  }
}

async function beginRun(
  opened: OpenedState,
  { runId: wanted, idPrefix = '', replaces = [] }: OfflineCommand,
  effects: OfflineEffects,
  mayRestore: boolean,
): Promise<OfflineRun> {
  const { settings, database, startedAtMs } = opened;
  await proveTables(database, database.file, settings.streams, replaces);
  await refuseMove(settings, database);
  await assertOwnLineage(settings, database);
  const runId = await chooseRunId(database, settings.stateDir, wanted, startedAtMs);
  return new OfflineRun(opened, wanted === undefined ? `${idPrefix}${runId}` : runId, effects, mayRestore);
}

/** One run without requests, from its first change to its report. */
export class OfflineRun {
  /** The context of sync steps, with a client that rejects every request. */
  readonly context: RunContext;
  readonly warnings: string[];
  readonly #startedAtMs: number;
  readonly #mayRestore: boolean;
  readonly #reports: StreamReport[] = [];
  #isSaved = false;
  #hasChanged = false;

  constructor(
    { settings, database, clock, recordClock, startedAtMs, warnings }: OpenedState,
    runId: string,
    { onProgress, signal }: OfflineEffects,
    mayRestore: boolean,
  ) {
    this.#startedAtMs = startedAtMs;
    this.#mayRestore = mayRestore;
    this.warnings = [...warnings];
    this.context = {
      runId,
      settings,
      options: {},
      clock,
      recordClock,
      client: refusingClient,
      database,
      signal,
      emit: (event) => {
        if (event.type === 'warning') this.warnings.push(event.message);
        try {
          onProgress?.(event);
        } catch {
          // A failing display must not affect the data.
        }
      },
      concurrency: 1,
    };
  }

  /** Runs the command's work; a signal interrupts the running statement. */
  async do<T>(work: (run: OfflineRun) => Promise<T>): Promise<T> {
    const { database, settings, signal } = this.context;
    // Closing during a running statement would hang.
    const interrupt = () => {
      database.interrupt();
    };
    signal?.addEventListener('abort', interrupt, { once: true });
    try {
      closeKilledRunsInFile(settings.stateDir);
      return await work(this);
    } finally {
      signal?.removeEventListener('abort', interrupt);
    }
  }

  /**
   * The error that a part of the work ended with, for its report.
   *
   * @throws DamagedFileError for damage to repair before anything is reported
   */
  judge(thrown: unknown): SyncError {
    const error = toSyncError(thrown);
    if (this.#mayRestore && error instanceof DamagedFileError) throw error;
    return error;
  }

  /** A requested stop; it explains more than the failures it caused. */
  findStop(): SyncError | undefined {
    const { signal } = this.context;
    return signal?.aborted === true ? toAbortError(signal) : undefined;
  }

  /** Records a change in its own transaction; `database` may be a copy of the work file. */
  async save(reports: readonly StreamReport[], database: Database = this.context.database): Promise<void> {
    const { runId, recordClock } = this.context;
    this.#isSaved = true;
    await markGeneration(database, runId, recordClock.now());
    for (const report of reports) await writeStreamRun(database, runId, report);
    const sofar = this.#report(undefined, undefined, [...this.#reports, ...reports]);
    await writeRun(database, { ...sofar, status: 'running' });
  }

  /** Adds a stream's report to the run's report. */
  add(report: StreamReport): void {
    this.#reports.push(report);
    // What was saved in a rolled-back transaction or a discarded copy did not happen.
    this.#hasChanged ||= this.#isSaved && report.status === 'complete';
    this.context.emit({ type: 'stream-finished', report });
  }

  /** Publishes what is committed, unless the run was stopped, and records the run. */
  async finish(stop?: SyncError): Promise<OfflineEnd> {
    const { settings, database, emit } = this.context;
    let error = stop ?? this.findStop();
    let published: RunReport['published'];
    // A stop ended the current work; commits must still be recorded.
    database.proceed();
    try {
      if (this.#hasChanged) await this.#saveEnd(error);
      if (this.findStop() === undefined) {
        // A table to be rebuilt may still be missing, and must not remove a published one.
        await proveTables(database, database.file, settings.streams);
        const outcome = await publishRun(this.context);
        published = outcome.published;
        error ??= outcome.failure;
      }
    } catch (thrown) {
      error ??= this.judge(thrown);
    }
    const report = this.#report(error, published);
    // If there was nothing to do, there is nothing to record.
    if (this.#reports.length > 0) appendRunFile(settings.stateDir, report);
    emit({ type: 'run-finished', report });
    return { report, error };
  }

  async #saveEnd(error: SyncError | undefined): Promise<void> {
    const { database, runId, recordClock } = this.context;
    await database.transaction(async () => {
      await markGeneration(database, runId, recordClock.now());
      await writeRun(database, this.#report(error, undefined));
    });
  }

  #report(
    error: SyncError | undefined,
    published: RunReport['published'],
    streams: readonly StreamReport[] = this.#reports,
  ): RunReport {
    const { warnings } = this;
    const facts = { startedAtMs: this.#startedAtMs, streams, warnings, error, published, quota: noQuota };
    return reportRun(this.context, facts);
  }
}
