import type { Connector } from '../../model/connector.ts';
import type { DiscoverReport } from '../../model/discover-report.ts';
import type { ErrorCode } from '../../model/errors.ts';
import type { OnProgress } from '../../model/progress.ts';
import type { QuarantinedRecordDetail, QuarantineList, RetryReport } from '../../model/quarantine-report.ts';
import type { PlannedAccount, PlanReport, SharedQuotaPlan } from '../../model/plan-report.ts';
import type {
  CheckReport,
  ComparisonReport,
  MaintainReport,
  PublishedFault,
  RebuildReport,
  RunSummary,
  StatusReport,
  TableExport,
  VerifyReport,
} from '../../model/reports.ts';
import type { RefusedRun } from '../../model/refused-run.ts';
import type { RunObserver } from '../../model/run-observer.ts';
import type { RunReport } from '../../model/run-report.ts';
import type { SchemaDiff, SchemaExport, StreamSchema } from '../../model/schema-report.ts';
import type { ConfirmChange, StateChangeReport, StateReport } from '../../model/state-report.ts';
import type { JointResult } from '../../accounts/publish-joint.ts';
import type { Clock } from '../../model/clock.ts';
import type { TriedJoint } from '../../accounts/find-joint-faults.ts';
import type { FoundLeftover, Leftover } from '../../accounts/find-leftovers.ts';
import type { RemovalPlan } from '../../accounts/plan-removal.ts';
import type { Removal, RemovalEffects } from '../../accounts/remove-account.ts';
import type { AccountPlaces } from '../../config/account-places.ts';
import type { ConfigAccount, ConfigAccounts } from '../../config/accounts.ts';
import type { ConfigEntry } from '../../config/config-entry.ts';
import type { OfflineSettings, Settings, SyncOptions } from '../../model/settings.ts';
import type { CollectedMetrics, CountedRun } from '../../metrics/collect-metrics.ts';
import type { MetricFacts, ScheduleFacts } from '../../metrics/metric-facts.ts';
import type { AccountMetricsOptions } from '../../metrics/render-metrics.ts';
import type { MetricsServer, MetricsServerOptions } from '../../metrics/metrics-server.ts';
import type { EndedRun } from '../../notify/notice.ts';
import type { EndedSync } from '../../notify/notify-accounts.ts';
import type { QueryEngine } from './query-engine.ts';
import type { ReportEngine } from './report-engine.ts';
import type { TelemetryEngine } from './telemetry-engine.ts';
import type { NotifyEffects } from '../../notify/notify-run.ts';
import type { JointExportRequest } from '../../commands/contracts/export-joint-schema.ts';
import type { ExportOptions } from '../../commands/contracts/export-schema.ts';
import type { TableExportRequest } from '../../commands/export-tables.ts';
import type { RefusalPlace } from '../../commands/refused-run.ts';
import type { CronSchedule } from '../../schedule/cron-schedule.ts';
import type { ScheduleOptions } from '../../schedule/run-schedule.ts';
import type { ClientEngine } from './client-engine.ts';
import type { FleetEngine } from './fleet-engine.ts';
import type { SimulatedAccount } from '../../simulator/accounts.ts';
import type { Scenario, ScenarioGroup } from '../../simulator/scenario.ts';

/** The values of a new config file. */
export interface ConfigAnswers {
  readonly baseUrl: string;
  readonly duckdb: string;
  /** The API to sync; without one it is the analytics API. */
  readonly connector?: Connector | undefined;
  readonly stateDir?: string | undefined;
  /** Accounts, and the lake of each, where `${account}` is in all paths. */
  readonly accounts?: { readonly names: readonly string[]; readonly parquet: string } | undefined;
  /** Where the file will be, for the path to the schema that editors use; without it, no schema is named. */
  readonly folder?: string;
}

export type { FoundLeftover, Leftover } from '../../accounts/find-leftovers.ts';
export type { RemovalPlan } from '../../accounts/plan-removal.ts';

/** The functions of Sluice that commands call; tests pass a fake. */
export interface Engine extends QueryEngine, ReportEngine, TelemetryEngine {
  loadSettings(request: ConfigRequest): Promise<Settings>;
  /** The accounts of a config and where their data lies; undefined for a config without accounts. */
  listAccounts(request: ConfigRequest): Promise<KnownAccounts | undefined>;
  /** Writes the files that join all accounts, after their runs. Never throws. */
  publishJoint(
    known: KnownAccounts,
    options: { readonly clock: Clock; readonly signal?: AbortSignal | undefined },
  ): Promise<JointResult>;
  /** What is wrong with the files that join all accounts. */
  findJointFaults(known: KnownAccounts): Promise<readonly PublishedFault[]>;
  /** Whether a sync could write them; nothing is written. */
  tryJoint(known: KnownAccounts): Promise<readonly TriedJoint[]>;
  /** What is left of accounts that the config no longer has. */
  findLeftovers(known: KnownAccounts): Promise<readonly Leftover[]>;
  /** What is left of one account; undefined if there is nothing in its places. */
  findLeftover(known: KnownAccounts, account: string): Promise<FoundLeftover | undefined>;
  /** What removing an account would delete. */
  planRemoval(request: ConfigRequest, left: FoundLeftover): Promise<RemovalPlan>;
  /** Deletes what is left of an account. */
  removeAccount(request: ConfigRequest, left: FoundLeftover, effects: RemovalEffects): Promise<Removal>;
  /** The same without a key, for commands that send no request. */
  loadOfflineSettings(request: ConfigRequest): Promise<OfflineSettings>;
  explainConfig(request: ConfigRequest): Promise<readonly ConfigEntry[]>;
  buildConfigTemplate(values: ConfigAnswers): Promise<string>;
  /** The state folder that an invalid config refers to; undefined if it cannot be determined. */
  guessStateDir(request: ConfigRequest): Promise<string | undefined>;
  runSync(settings: Settings, options: SyncOptions & Observed): Promise<RunReport>;
  /** Records why a sync was refused that has no record of its own. */
  keepRefusal(place: RefusalPlace, refused: Pick<RefusedRun, 'startedAt' | 'error'>): Promise<void>;
  /** Forgets that once a sync is on record, or if its cause is among those fixed. */
  settleRefusal(stateDir: string, fixed?: readonly ErrorCode[]): Promise<void>;
  planSync(settings: Settings, options: SyncOptions & Cancellable): Promise<PlanReport>;
  /** The same without a request, from what earlier runs saw; needs no key. */
  planOffline(settings: OfflineSettings, options: SyncOptions): Promise<PlanReport>;
  /** What accounts with one key take together. */
  planSharedQuotas(planned: readonly PlannedAccount[]): Promise<readonly SharedQuotaPlan[]>;
  runChecks(settings: Settings, options: Cancellable & Pick<SyncOptions, 'ofAccount'>): Promise<CheckReport>;
  discover(settings: Settings, request: DiscoverRequest): Promise<DiscoverReport>;
  listQuarantine(settings: OfflineSettings, request: QuarantineRequest): Promise<QuarantineList>;
  showQuarantined(settings: OfflineSettings, id: string): Promise<QuarantinedRecordDetail>;
  retryQuarantine(settings: OfflineSettings, request: Progressing & OfStreams): Promise<RetryReport>;
  showSchema(settings: OfflineSettings, request: OfStreams): Promise<readonly StreamSchema[]>;
  diffSchema(
    settings: OfflineSettings,
    request: OfStreams & { readonly since?: string },
  ): Promise<SchemaDiff>;
  exportSchema(settings: OfflineSettings, request: ExportOptions): Promise<SchemaExport>;
  /** Sources for dbt of the tables with the rows of all accounts. */
  exportJointSchema(request: JointExportRequest): Promise<SchemaExport>;
  verifyState(settings: OfflineSettings, request: VerifyRequest): Promise<VerifyReport>;
  compareWithApi(settings: Settings, request: CompareRequest): Promise<ComparisonReport>;
  readState(settings: OfflineSettings, request: OfStreams): Promise<StateReport>;
  importState(settings: OfflineSettings, text: string, request: ChangeRequest): Promise<StateChangeReport>;
  resetState(settings: OfflineSettings, request: ResetRequest): Promise<StateChangeReport>;
  exportTables(settings: OfflineSettings, request: TableExportRequest): Promise<TableExport>;
  maintainLakes(settings: OfflineSettings, request: Cancellable): Promise<MaintainReport>;
  rebuildStreams(settings: OfflineSettings, request: RebuildRequest): Promise<RebuildReport>;
  readStatus(settings: OfflineSettings): Promise<StatusReport>;
  /** The runs of the run file, newest first, without a look at the published file. */
  readRecentRuns(settings: OfflineSettings): Promise<readonly RunReport[]>;
  readRuns(settings: OfflineSettings, options: { readonly limit: number }): Promise<readonly RunSummary[]>;
  /** Why this user cannot read the records of the state folder. */
  findUnreadableState(settings: OfflineSettings): Promise<string | undefined>;
  /** The sync that was refused last and left no record, unless a later one did. */
  findRefusal(settings: OfflineSettings): Promise<RefusedRun | undefined>;
  readRun(settings: OfflineSettings, runId: string): Promise<RunReport | RunSummary>;
  startSimulator(options: SimulatorRequest): Promise<RunningSimulator>;
  /** The scenarios of the simulator. */
  listScenarios(): Promise<readonly ScenarioGroup[]>;
  readVersion(): Promise<string>;
  /** Reads a cron expression; without a time zone it is in the machine's own. */
  parseCron(expression: string, timezone: string | undefined, nowMs: number): Promise<CronSchedule>;
  /** Whether a schedule has a missed run to make up for at its start. */
  owesRun(schedule: CronSchedule, settings: OfflineSettings, nowMs: number): Promise<boolean>;
  runSchedule(options: ScheduleOptions): Promise<void>;
  /** Sends the notices of a run; returns those that failed, as warnings. */
  notifyRun(settings: ToldSettings, run: EndedRun, effects: NotifyEffects): Promise<readonly string[]>;
  /** The same for several accounts: one notice for all that have the same to tell. */
  notifyAccounts(
    accounts: readonly EndedAccount[],
    end: EndedSync,
    effects: NotifyEffects,
  ): Promise<readonly string[]>;
  /** Reads the metrics and adds `run`; without settings only the run is known. */
  collectMetrics(
    settings: OfflineSettings | undefined,
    run: CountedRun | undefined,
    nowMs: number,
  ): Promise<CollectedMetrics>;
  renderMetrics(facts: MetricFacts, schedule?: ScheduleFacts): Promise<string>;
  renderAccountMetrics(
    accounts: ReadonlyMap<string, MetricFacts>,
    options: AccountMetricsOptions,
  ): Promise<string>;
  writeMetricsFile(file: string, text: string, unread?: readonly (string | undefined)[]): Promise<void>;
  startMetricsServer(options: MetricsServerOptions): Promise<MetricsServer>;
  readonly fleet: FleetEngine;
  readonly clients: ClientEngine;
}

/** Settings for the notices of a run; a run without a key has no credentials. */
export type ToldSettings = OfflineSettings & Partial<Pick<Settings, 'credentials'>>;

/** An account for the notices of a sync, and how it ended. */
export interface EndedAccount {
  readonly account: string;
  readonly settings: ToldSettings;
  readonly run: EndedRun;
}

/** Where the config is read from. */
export interface ConfigRequest {
  /** As the user gave it, so that messages name it that way. */
  readonly path: string;
  readonly env: NodeJS.ProcessEnv;
  readonly nowMs: number;
  /** `ignored` leaves contract files unread. */
  readonly contracts?: 'ignored';
  /** One of the accounts that `listAccounts` found. */
  readonly account?: ConfigAccount | undefined;
}

/** The accounts of a config. */
export interface KnownAccounts extends ConfigAccounts, AccountPlaces {}

export interface Cancellable {
  readonly signal?: AbortSignal;
}

/** Watched while it runs; the caller reports its end. */
export interface Observed extends Progressing {
  readonly observers?: readonly RunObserver[];
}

export interface Progressing extends Cancellable {
  readonly onProgress?: OnProgress;
}

/** The streams to act on; all of them if none are named. */
export interface OfStreams {
  readonly streams?: readonly string[];
}

/** What `quarantine list` is to show. */
export interface QuarantineRequest extends OfStreams {
  readonly limit: number;
}

/** What `discover` is to do. */
export interface DiscoverRequest extends Cancellable, OfStreams {
  readonly pages?: number;
  readonly maxRequests?: number;
  readonly write?: { readonly force: boolean };
  readonly examples: boolean;
  /** Called once before parameters are tested; without it they are not tested. */
  readonly confirmProbes:
    | ((
        mostRequests: number,
        sampled: {
          readonly requestsSpent: number;
          readonly quotaLeft: number | undefined;
          readonly wanted: number;
          readonly returnsAtMs: number | undefined;
        },
      ) => Promise<boolean>)
    | undefined;
}

export interface VerifyRequest extends Cancellable, OfStreams {}

/** What `verify --against-api` is to do. */
export interface CompareRequest extends Cancellable, OfStreams {
  readonly maxRequests?: number;
  readonly show?: number;
  readonly onBegin?: () => void;
}

/** A change of the state, and who confirms it. */
export interface ChangeRequest extends Cancellable {
  readonly confirm: ConfirmChange;
}

export interface ResetRequest extends ChangeRequest, OfStreams {
  readonly dropTables?: boolean;
}

/** What `rebuild` is to do. */
export interface RebuildRequest extends Progressing, OfStreams {
  readonly dryRun?: boolean;
  readonly archivedOnly?: boolean;
}

/** How `simulate` and `demo` configure the simulator. */
export interface SimulatorRequest {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly key?: string | undefined;
  /** In place of the key. */
  readonly accounts?: readonly SimulatedAccount[] | undefined;
  readonly day: string;
  /** As the simulator's option of this name. */
  readonly dates?: 'calendar' | 'relative' | undefined;
  readonly seed?: number | undefined;
  readonly requestsPerHour?: number | undefined;
  readonly burstPerSecond?: number | undefined;
  /** Name of a scenario; by default the API behaves as documented. */
  readonly scenario?: string | undefined;
}

/** A simulator that is listening. */
export interface RunningSimulator {
  readonly baseUrl: string;
  readonly origin: string;
  /** The one key it accepts; with accounts, each has its own. */
  readonly key: string;
  readonly scenario?: Scenario | undefined;
  advanceDay(): void;
  close(): Promise<void>;
}
