import type { Clock } from '../model/clock.ts';
import type { RecordClock } from '../model/record-clock.ts';
import type { OnProgress } from '../model/progress.ts';
import type { Settings, SyncOptions } from '../model/settings.ts';
import type { Source } from '../model/source.ts';
import type { Lease } from '../model/state-lock.ts';
import type { Database } from '../warehouse/database.ts';

/** Work of a scan that has the work file open and can release it for a while. */
export interface StepsAside {
  aside(work: () => Promise<void>): Promise<void>;
}

/** What is done while a scan waits for its pages. */
export interface Meanwhile {
  /** Reads a scan's pages; returns once the parallel work has ended. */
  during<T>(scan: StepsAside, readPages: () => Promise<T>): Promise<T>;
}

/** What every stage of one run shares; the values in it never change during the run. */
export interface RunContext {
  readonly runId: string;
  readonly settings: Settings;
  readonly options: SyncOptions;
  /** The machine's clock, for ages. It may be set back, or be wrong. */
  readonly clock: Clock;
  /** The clock of what is recorded. */
  readonly recordClock: RecordClock;
  /** The API. */
  readonly source: Source;
  readonly database: Database;
  readonly signal: AbortSignal | undefined;
  /** Aborted once another run may hold the state; so is `signal`, then. */
  readonly lost?: AbortSignal | undefined;
  /** The lease of the run, where its lock is one. */
  readonly lease?: Lease | undefined;
  /** Publishes committed data during waits; without it, only the end of the run does. */
  readonly meanwhile?: Meanwhile | undefined;
  readonly emit: OnProgress;
  /** Requests in flight at once. */
  readonly concurrency: number;
}

/** The parts of a run for loading a scan: it sends no request and publishes nothing. */
export type Loading = Pick<
  RunContext,
  'database' | 'settings' | 'options' | 'runId' | 'recordClock' | 'signal'
>;

/** The parts of a run for comparing the API with the tables: it loads nothing, and reports no progress. */
export type Comparing = Pick<
  RunContext,
  'source' | 'database' | 'settings' | 'options' | 'signal' | 'clock' | 'runId'
>;

/** The parts of a run for reading pages: it does not read the tables. */
export type Reading = Pick<
  RunContext,
  'source' | 'settings' | 'options' | 'signal' | 'clock' | 'runId' | 'emit' | 'concurrency'
>;

/** The parts of a run for recording its result. */
export type Recording = Pick<
  RunContext,
  'source' | 'database' | 'settings' | 'clock' | 'recordClock' | 'runId'
>;
