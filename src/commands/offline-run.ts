import { proveTables } from '../storage/prove-tables.ts';
import { appendRunFile, closeKilledRunsInFile } from '../../state/run-file.ts';
import { writeStreamRun } from '../../state/runs.ts';
import { toAbortError } from '../model/abort.ts';
import { type SyncError, toSyncError } from '../model/errors.ts';
import type { RunReport, StreamReport } from '../model/run-report.ts';
import type { OfflineSettings } from '../model/settings.ts';
import type { Database } from '../warehouse/database.ts';
import { interruptOnAbort } from '../warehouse/interrupt-on-abort.ts';
import { assertOwnLineage } from '../storage/assert-lineage.ts';
import { refuseMove } from '../storage/identity.ts';
import { publishRun } from '../sync/publish.ts';
import { createProgressReporter, observeWith } from '../sync/report-progress.ts';
import { RunLog } from '../sync/run-log.ts';
import { type RunStart, type Session, type SessionEffects, withSession } from '../sync/session.ts';
import { refuseRequests, withoutKey } from '../run/refuse-requests.ts';
import type { RunContext } from '../run/run-context.ts';

export interface OfflineCommand {
  /** As users type it: shown to processes that wait for the state lock. */
  readonly name: string;
  readonly runId?: string | undefined;
  /** Prefix of generated run ids. */
  readonly idPrefix?: string;
  /** Streams whose tables it rebuilds or drops: these tables may be missing. */
  readonly replaces?: readonly string[];
}

/** How a run without requests ended. */
export interface OfflineEnd {
  readonly report: RunReport;
  readonly error: SyncError | undefined;
}

/** Takes the state lock and opens the work file for a read-only command. */
export function lookOffline<T>(
  settings: OfflineSettings,
  { name }: Pick<OfflineCommand, 'name'>,
  effects: SessionEffects,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  return withSession(withoutKey(settings), effects, { name, publishes: false, work });
}

/**
 * Runs a command that changes committed data without the API. It rejects what a sync rejects at its start. If the
 * work file turns out to be damaged, it restores it from what is published and repeats the work once. `work` ends
 * with `finish`, which publishes and records the run.
 */
export function runOffline<T>(
  settings: OfflineSettings,
  command: OfflineCommand,
  effects: SessionEffects,
  work: (run: OfflineRun) => Promise<T>,
): Promise<T> {
  const begin = async (session: Session) => {
    const start = await beginRun(session, command);
    return new OfflineRun(session, start, effects).do(work);
  };
  return withSession(withoutKey(settings), effects, {
    name: command.name,
    publishes: true,
    work: async (session) => {
      try {
        return await begin(session);
      } catch (thrown) {
        if (!(await session.replaceDamaged(thrown))) throw thrown;
        return begin(session);
      }
    },
  });
}

async function beginRun(
  session: Session,
  { runId: wanted, idPrefix = '', replaces = [] }: OfflineCommand,
): Promise<RunStart> {
  const { settings, database } = session;
  await proveTables(database, settings.streams, replaces);
  await refuseMove(settings, database);
  await assertOwnLineage(settings, database);
  const start = await session.beginRun(wanted);
  return wanted === undefined ? { ...start, runId: `${idPrefix}${start.runId}` } : start;
}

/** One run without requests, from its first change to its report. */
export class OfflineRun {
  /** The context of sync steps, with a client that rejects every request. */
  readonly context: RunContext;
  /** For the run's report: each step adds what it notices. */
  readonly warnings: string[];
  readonly #session: Session;
  readonly #log: RunLog;
  #isSaved = false;
  #hasChanged = false;

  constructor(
    session: Session,
    { runId, recordClock, startedAtMs }: RunStart,
    { onProgress }: Pick<SessionEffects, 'onProgress'>,
  ) {
    const { settings, database, effects } = session;
    this.#session = session;
    this.warnings = listWarnings(session);
    this.context = {
      runId,
      settings,
      options: {},
      clock: effects.clock,
      recordClock,
      source: refuseRequests(settings),
      database,
      signal: effects.signal,
      lost: effects.lost,
      lease: effects.lease,
      emit: createProgressReporter(settings, this.warnings, observeWith(onProgress)),
      concurrency: 1,
    };
    this.#log = new RunLog(this.context, startedAtMs, this.warnings);
  }

  /** Runs the command's work; a signal interrupts the running statement. */
  do<T>(work: (run: OfflineRun) => Promise<T>): Promise<T> {
    const { database, settings, signal } = this.context;
    return interruptOnAbort(database, signal, () => {
      closeKilledRunsInFile(settings.stateDir);
      return work(this);
    });
  }

  /**
   * The error that a part of the work ended with, for its report.
   *
   * @throws DamagedFileError for damage to repair before anything is reported
   */
  async judge(thrown: unknown): Promise<SyncError> {
    const error = toSyncError(thrown);
    if (await this.#session.mayReplace(error)) throw error;
    return error;
  }

  /** A requested stop; it explains more than the failures it caused. */
  findStop(): SyncError | undefined {
    const { signal } = this.context;
    return signal?.aborted === true ? toAbortError(signal) : undefined;
  }

  /** Records a change in its own transaction; `database` may be a copy of the work file. */
  async save(reports: readonly StreamReport[], database: Database = this.context.database): Promise<void> {
    this.#isSaved = true;
    for (const report of reports) await writeStreamRun(database, this.context.runId, report);
    await this.#log.saveSoFar(reports, database);
  }

  /** Adds a stream's report to the run's report. */
  add(report: StreamReport): void {
    this.#log.add(report);
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
      if (this.#hasChanged) await this.#log.saveEnd(error, () => false);
      if (this.findStop() === undefined) {
        // A table to be rebuilt may still be missing, and must not remove a published one.
        await proveTables(database, settings.streams);
        const outcome = await publishRun(this.context);
        published = outcome.published;
        error ??= outcome.failure;
      }
    } catch (thrown) {
      error ??= await this.judge(thrown);
    }
    const report = this.#log.describe({ error, published });
    // If there was nothing to do, there is nothing to record.
    if (report.streams.length > 0) appendRunFile(settings.stateDir, report);
    emit({ type: 'run-finished', report });
    return { report, error };
  }
}

/** What to report before anything is done. */
export function listWarnings({
  settings,
  noticed,
}: Pick<Session, 'noticed'> & { readonly settings: OfflineSettings }): string[] {
  return [...settings.warnings, ...noticed.map(({ message }) => message)];
}
