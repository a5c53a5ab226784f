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
import { assertOwnLineage } from './assert-lineage.ts';
import { refuseMove } from './identity.ts';
import { assertTargetIsOurs, openWarehouse, replaceDamaged } from './open-warehouse.ts';
import { lockTargets } from './lock-targets.ts';
import { markGeneration, publishRun } from './publish.ts';
import { chooseRunId, reportRun } from './record-run.ts';
import { openRecordClock } from './record-times.ts';
import { refusingClient, withoutKey } from './refuse-requests.ts';
import { listStateSources } from './restore-work-file.ts';
import type { RunContext } from './run-context.ts';

/** What a command that asks the API nothing needs from its caller besides settings. */
export interface OfflineEffects {
  readonly onProgress?: OnProgress | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
}

export interface OfflineCommand {
  /** As people write it: whoever waits for the state lock is told. */
  readonly name: string;
  readonly runId?: string | undefined;
  /** Put before a run id that nobody chose. */
  readonly idPrefix?: string;
  /** Streams whose tables it makes anew or takes away: that one is lost is then no reason to refuse. */
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

/** Takes the state lock and opens the work file for a command that only looks at it. */
export async function lookOffline<T>(
  settings: OfflineSettings,
  command: Pick<OfflineCommand, 'name'>,
  effects: OfflineEffects,
  use: (opened: OpenedState) => Promise<T>,
): Promise<T> {
  return holdState(settings, command, effects, () => Promise.resolve(undefined), use);
}

async function holdState<T>(
  settings: OfflineSettings,
  { name }: Pick<OfflineCommand, 'name'>,
  { clock = systemClock, signal }: OfflineEffects,
  begin: (settings: Settings) => Promise<StateLock | undefined>,
  use: (opened: OpenedState) => Promise<T>,
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
 * Runs a command that changes what is committed without asking the API: refuses what a sync refuses before it
 * begins, and should the work file turn out to be damaged, restores it from what is published and does the work
 * anew, once. `work` ends with `finish`, which publishes and records the run.
 */
export async function runOffline<T>(
  settings: OfflineSettings,
  command: OfflineCommand,
  effects: OfflineEffects,
  work: (run: OfflineRun) => Promise<T>,
): Promise<T> {
  return holdState(settings, command, effects, takeTargets, async (opened) => {
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
  });
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
  /** What steps of a sync take, with a client that refuses every request. */
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
          // A display that fails must not change what becomes of the data.
        }
      },
      concurrency: 1,
    };
  }

  /** Does the work of the command; a signal ends the statement that runs. */
  async do<T>(work: (run: OfflineRun) => Promise<T>): Promise<T> {
    const { database, settings, signal } = this.context;
    // Closing under a running statement would hang.
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
   * @throws DamagedFileError for damage that is to be mended before anything is reported
   */
  judge(thrown: unknown): SyncError {
    const error = toSyncError(thrown);
    if (this.#mayRestore && error instanceof DamagedFileError) throw error;
    return error;
  }

  /** A stop asked for; it explains better than whatever it made fail. */
  findStop(): SyncError | undefined {
    const { signal } = this.context;
    return signal?.aborted === true ? toAbortError(signal) : undefined;
  }

  /** Records in the transaction that changes something what it is; `database` may be a copy of the work file. */
  async save(reports: readonly StreamReport[], database: Database = this.context.database): Promise<void> {
    const { runId, recordClock } = this.context;
    this.#isSaved = true;
    await markGeneration(database, runId, recordClock.now());
    for (const report of reports) await writeStreamRun(database, runId, report);
    const sofar = this.#report(undefined, undefined, [...this.#reports, ...reports]);
    await writeRun(database, { ...sofar, status: 'running' });
  }

  /** Adds what became of a stream to the run's report. */
  add(report: StreamReport): void {
    this.#reports.push(report);
    // What was saved in a transaction, or a copy, that came to nothing never happened.
    this.#hasChanged ||= this.#isSaved && report.status === 'complete';
    this.context.emit({ type: 'stream-finished', report });
  }

  /** Publishes what is committed, unless the run was stopped, and records the run. */
  async finish(stop?: SyncError): Promise<OfflineEnd> {
    const { settings, database, emit } = this.context;
    let error = stop ?? this.findStop();
    let published: RunReport['published'];
    // A stop has ended what was under way; what was committed is still to be recorded.
    database.proceed();
    try {
      if (this.#hasChanged) await this.#saveEnd(error);
      if (this.findStop() === undefined) {
        // What was to be made anew may still be lost, and must not take a published table with it.
        await proveTables(database, database.file, settings.streams);
        const outcome = await publishRun(this.context);
        published = outcome.published;
        error ??= outcome.failure;
      }
    } catch (thrown) {
      error ??= this.judge(thrown);
    }
    const report = this.#report(error, published);
    // With nothing to do nothing happened that anybody would look for.
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
