import type { ReportedError, RunReport, StreamReport } from './run-report.ts';

/**
 * What an account of a fleet is doing. `lost`: its worker is gone, and another one takes it over; `due`: it waits for a
 * worker; `deferred`: for its quota; `retrying`: its last run has to be tried again; `scheduled`: for the next time of the
 * schedule; `idle`: for somebody to ask for it.
 */
export type FleetAccountState =
  'running' | 'lost' | 'due' | 'deferred' | 'retrying' | 'scheduled' | 'idle' | 'paused';

/** An account of a fleet. All times are ISO, by the database's clock. */
export interface FleetAccount {
  readonly account: string;
  readonly state: FleetAccountState;
  /** Also while it is running: then this run goes on to its end, and no other one is begun. */
  readonly isPaused: boolean;
  readonly isInConfig: boolean;
  /** The worker that has it, with its lease. */
  readonly worker: string | undefined;
  readonly leaseUntil: string | undefined;
  readonly startedAt: string | undefined;
  /** When it is due; in the past for one that waits for a worker. */
  readonly nextAt: string | undefined;
  readonly lastRunId: string | undefined;
  readonly lastExitCode: number | undefined;
  readonly lastStartedAt: string | undefined;
  readonly lastEndedAt: string | undefined;
  /** When a run last ended with exit code 0. */
  readonly lastCleanAt: string | undefined;
  /** Runs in a row that have to be tried again. */
  readonly failures: number;
  readonly lastError: ReportedError | undefined;
  /** Numbers its runs. */
  readonly token: number;
  /** Its state in the store. */
  readonly object: string | undefined;
}

/** Whether the last run of an account failed, and does not only have to be continued. */
export function hasFailed({ lastExitCode }: Pick<FleetAccount, 'lastExitCode'>): boolean {
  return ![undefined, 0, 75, 130, 143].includes(lastExitCode);
}

/** A process that runs accounts. */
export interface FleetWorker {
  readonly worker: string;
  readonly host: string;
  readonly pid: number;
  readonly lanes: number;
  readonly running: number;
  readonly version: string;
  readonly startedAt: string;
  readonly seenAt: string;
  /** `gone`: it was not seen for a lease and never said that it stopped. */
  readonly state: 'working' | 'stopped' | 'gone';
}

/** Runs that ended within the last day. */
export interface FleetRunCounts {
  readonly runs: number;
  /** By exit code; `lost` for those whose worker went away. */
  readonly byExitCode: Readonly<Record<string, number>>;
  readonly requests: number;
  readonly rateLimited: number;
  readonly rowsRead: number;
  readonly rowsChanged: number;
}

/** What a fleet is doing. */
export interface FleetStatus {
  /** The database, without a login. */
  readonly database: string;
  /** ISO, the database's time. */
  readonly now: string;
  readonly accounts: readonly FleetAccount[];
  readonly workers: readonly FleetWorker[];
  readonly lastDay: FleetRunCounts;
}

/** What a change of accounts came to. */
export interface FleetChange {
  readonly account: string;
  readonly outcome:
    | 'queued'
    | 'running'
    | 'paused'
    | 'paused already'
    | 'resumed'
    | 'not paused'
    /** It is paused, and was not named alone. */
    | 'still paused'
    /** Its lease was ended. */
    | 'freed'
    | 'not held';
  /** The worker that has it, or had it. */
  readonly worker: string | undefined;
}

/** What repairing an account came to. */
export interface FleetRepair extends FleetChange {
  /** Objects in the store that nobody needs: what killed runs put away. */
  readonly orphans: readonly string[];
  readonly isRemoved: boolean;
  /** The state was forgotten: the next run restores it from a destination, or begins again. */
  readonly isForgotten: boolean;
}

/** What the last run of an account with exit code 0 said. */
export interface CleanRun extends Pick<RunReport, 'runId' | 'startedAt' | 'requests'> {
  readonly streams: readonly Pick<StreamReport, 'stream' | 'slice' | 'status' | 'verdict' | 'rowsInTable'>[];
}

/** What the HTML report of a fleet shows. */
export interface FleetReportData {
  readonly status: FleetStatus;
  /** By account. */
  readonly cleanRuns: ReadonlyMap<string, CleanRun>;
  readonly version: string;
}

/** A whole HTML file about a fleet, and the same in short. */
export interface RenderedFleetReport {
  readonly html: string;
  readonly summary: {
    readonly madeAt: string;
    readonly tone: 'good' | 'note' | 'bad' | 'idle';
    readonly headline: string;
    /** Those whose last run failed. */
    readonly failed: readonly { readonly account: string; readonly error: ReportedError | null }[];
  };
}
