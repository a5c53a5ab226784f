import { randomBytes } from 'node:crypto';
import { writeEntries } from '../../state/migrations.ts';
import { appendRunFile } from '../../state/run-file.ts';
import { writeRun, writeStreamRun } from '../../state/runs.ts';
import { type SyncError, toSyncError } from '../model/errors.ts';
import type { RunReport, StreamReport } from '../model/run-report.ts';
import type { Recording } from '../run/run-context.ts';
import { nameLastTime } from '../storage/record-times.ts';
import type { Database } from '../warehouse/database.ts';
import { reportRun } from './record-run.ts';

/** How a run ended, or how it stands. */
export interface RunEnd {
  readonly error?: SyncError | undefined;
  readonly published?: RunReport['published'];
}

/** The log of one run: what its streams reported, and the rows and lines in which a run is recorded. */
export class RunLog {
  /** For the run's report: each step adds what it notices. */
  readonly warnings: string[];
  readonly #context: Recording;
  readonly #startedAtMs: number;
  readonly #reports: StreamReport[] = [];

  constructor(context: Recording, startedAtMs: number, warnings: string[]) {
    this.#context = context;
    this.#startedAtMs = startedAtMs;
    this.warnings = warnings;
  }

  get reports(): readonly StreamReport[] {
    return this.#reports;
  }

  add(report: StreamReport): void {
    this.#reports.push(report);
  }

  /** Forgets what the streams reported: it was lost with a damaged work file. */
  clear(): void {
    this.#reports.length = 0;
  }

  /** The run's report as it stands. */
  describe({ error, published }: RunEnd = {}): RunReport {
    return this.#describe({ error, published }, this.#reports);
  }

  /** A killed run must not look like one that ended. */
  describeSoFar(committing: readonly StreamReport[] = []): RunReport {
    return { ...this.#describe({}, [...this.#reports, ...committing]), status: 'running' };
  }

  /**
   * Marks the warehouse as changed, and writes the run's row as it stands with the reports that are being committed.
   * Call in the transaction that commits them; `database` may be a copy of the work file.
   */
  async saveSoFar(
    committing: readonly StreamReport[],
    database: Database = this.#context.database,
  ): Promise<void> {
    await this.#markChanged(database);
    await writeRun(database, this.describeSoFar(committing));
  }

  /** Writes how the run ended, with the streams that committed nothing; the rest belongs to the same transaction. */
  async saveEnd(
    error: SyncError | undefined,
    uncommitted: (report: StreamReport) => boolean,
    rest: () => Promise<void> = () => Promise.resolve(),
  ): Promise<void> {
    const { database, runId } = this.#context;
    const run = this.describe({ error });
    await database.transaction(async () => {
      await this.#markChanged(database);
      await writeRun(database, run);
      for (const report of run.streams.filter(uncommitted)) await writeStreamRun(database, runId, report);
      await rest();
    });
  }

  /** What keeps a run out of the run file must not keep its commits from being published: it is returned. */
  writeToFile(report: RunReport): SyncError | undefined {
    try {
      appendRunFile(this.#context.settings.stateDir, report);
      return undefined;
    } catch (thrown) {
      return toSyncError(thrown);
    }
  }

  async #markChanged(database: Database): Promise<void> {
    const { runId, recordClock } = this.#context;
    // A scheduler may give its retries the same run id.
    const generation = ['generation', `${runId} ${randomBytes(6).toString('hex')}`] as const;
    await writeEntries(database, new Map([generation, nameLastTime(recordClock.now())]));
  }

  #describe({ error, published }: RunEnd, streams: readonly StreamReport[]): RunReport {
    const quota = this.#context.source.seenQuota();
    const facts = { startedAtMs: this.#startedAtMs, warnings: this.warnings };
    return reportRun(this.#context, { ...facts, streams, error, published, quota });
  }
}
