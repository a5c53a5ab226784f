import type { ExitCode } from '../../model/errors.ts';
import type { CheckItem } from '../../model/reports.ts';
import type { FleetSettings } from '../../model/fleet.ts';
import type { FleetChange, FleetRepair, FleetStatus, RenderedFleetReport } from '../../model/fleet-report.ts';
import type { Paging } from '../../model/report-data.ts';
import type { FleetMetricsOptions } from '../../metrics/render-fleet-metrics.ts';
import type { Clock } from '../../model/clock.ts';
import type { WorkerEvent, ServedAccounts } from '../../fleet/worker/worker-events.ts';

/**
 * What is done to accounts; `run-unpaused` leaves out those that are paused, `run-with-new-key` accepts a key that returns
 * other data than the tables have.
 */
export type FleetChangeKind = 'run' | 'run-unpaused' | 'run-with-new-key' | 'pause' | 'resume';

/** What the commands of a fleet call. */
export interface FleetEngine {
  /** What the config says of its fleet; a mistake in one account is not looked for. */
  loadSettings(config: FleetConfig): Promise<FleetSettings>;
  /** Makes the tables and the queue, or brings them up to date, and adds the accounts of the config. */
  init(settings: FleetSettings, accounts: readonly string[], nowMs: number): Promise<FleetInit>;
  /** Takes accounts and runs them until the signal aborts and every run has ended. */
  work(request: WorkRequest): Promise<void>;
  read(settings: FleetSettings, accounts: readonly string[]): Promise<FleetStatus>;
  /** Opens the database to read the same again and again. */
  openReader(settings: FleetSettings): Promise<FleetReader>;
  /** The text format of Prometheus. */
  renderMetrics(status: FleetStatus, options: FleetMetricsOptions): Promise<string>;
  /** One HTML file of the whole fleet. */
  makeReport(
    settings: FleetSettings,
    accounts: readonly string[],
    paging?: Paging,
  ): Promise<RenderedFleetReport>;
  /** Tries the database and the store; undefined for a config without a fleet. */
  check(config: FleetConfig): Promise<FleetCheck | undefined>;
  change(
    settings: FleetSettings,
    accounts: readonly string[],
    what: FleetChangeKind,
  ): Promise<readonly FleetChange[]>;
  repair(settings: FleetSettings, account: string, choice: RepairChoice): Promise<FleetRepair>;
}

/** Reads what a fleet is doing, with a connection of its own. */
export interface FleetReader {
  read(accounts: readonly string[]): Promise<FleetStatus>;
  close(): Promise<void>;
}

/** Where a config is read from. */
export interface FleetConfig {
  /** As the user gave it, so that messages name it that way. */
  readonly path: string;
  readonly env: NodeJS.ProcessEnv;
}

/** What a check of a fleet found. */
export interface FleetCheck {
  readonly items: readonly CheckItem[];
  /** Of the first item that failed. */
  readonly exitCode: ExitCode;
}

/** What making a fleet came to. */
export interface FleetInit {
  readonly database: string;
  /** Version of the tables before; 0 if there were none. */
  readonly before: number;
  readonly version: number;
  readonly added: number;
  /** Where the state of accounts is kept. */
  readonly store: string;
}

/** How a lost account is repaired. */
export interface RepairChoice {
  /** The config has the account. */
  readonly isInConfig: boolean;
  readonly forgetsState: boolean;
  readonly removesOrphans: boolean;
}

/** What a worker needs of the command line. */
export interface WorkRequest {
  readonly settings: FleetSettings;
  readonly lanes: number;
  /** Absolute path of the folder in which runs work. */
  readonly scratch: string;
  /** Which config its lanes read for each run. */
  readonly config: FleetConfig;
  readonly readAccounts: () => Promise<ServedAccounts>;
  /** Called once it can take accounts. */
  readonly onReady: () => void;
  /** Called each time the worker looks for accounts that are due, a second apart or more. */
  readonly onLook?: (() => void) | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onEvent: (event: WorkerEvent) => void;
  /** Lines that a lane prints: only defects print. */
  readonly onOutput: (line: string) => void;
}
