import type { FleetSettings } from '../../model/fleet.ts';
import type { FleetChange, FleetRepair, FleetStatus } from '../../model/fleet-report.ts';
import type { Clock } from '../../model/clock.ts';
import type { WorkerEvent, ServedAccounts } from '../../fleet/worker/worker-events.ts';

/** What the commands of a fleet call. */
export interface FleetEngine {
  /** What the config says of its fleet; a mistake in one account is not looked for. */
  loadSettings(config: FleetConfig): Promise<FleetSettings>;
  /** Makes the tables and the queue, or brings them up to date, and adds the accounts of the config. */
  init(settings: FleetSettings, accounts: readonly string[]): Promise<FleetInit>;
  /** Takes accounts and runs them until the signal aborts and every run has ended. */
  work(request: WorkRequest): Promise<void>;
  read(settings: FleetSettings, accounts: readonly string[]): Promise<FleetStatus>;
  change(
    settings: FleetSettings,
    accounts: readonly string[],
    what: 'run' | 'pause' | 'resume',
  ): Promise<readonly FleetChange[]>;
  repair(settings: FleetSettings, account: string, choice: RepairChoice): Promise<FleetRepair>;
}

/** Where a config is read from. */
export interface FleetConfig {
  /** As the user gave it, so that messages name it that way. */
  readonly path: string;
  readonly env: NodeJS.ProcessEnv;
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
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onEvent: (event: WorkerEvent) => void;
  /** Lines that a lane prints: only defects print. */
  readonly onOutput: (line: string) => void;
}
