import type { OnProgress } from '../model/progress.ts';
import type { CheckReport, PlanReport, QueryResult, RunSummary, StatusReport } from '../model/reports.ts';
import type { RunReport } from '../model/run-report.ts';
import type { ConfigEntry } from '../config/config-entry.ts';
import type { OfflineSettings, Settings, SyncOptions } from '../model/settings.ts';

/** The functions of Sluice that commands call; tests pass a fake. */
export interface Engine {
  loadSettings(request: ConfigRequest): Promise<Settings>;
  /** The same without a key, for commands that send no request. */
  loadOfflineSettings(request: ConfigRequest): Promise<OfflineSettings>;
  explainConfig(request: ConfigRequest): Promise<readonly ConfigEntry[]>;
  buildConfigTemplate(values: { readonly baseUrl: string; readonly duckdb: string }): Promise<string>;
  runSync(settings: Settings, options: SyncOptions & Progressing): Promise<RunReport>;
  planSync(settings: Settings, options: SyncOptions & Cancellable): Promise<PlanReport>;
  /** The same without a request, from what earlier runs saw; needs no key. */
  planOffline(settings: OfflineSettings, options: SyncOptions): Promise<PlanReport>;
  runChecks(settings: Settings, options: Cancellable): Promise<CheckReport>;
  readStatus(settings: OfflineSettings): Promise<StatusReport>;
  readRuns(settings: OfflineSettings, options: { readonly limit: number }): Promise<readonly RunSummary[]>;
  readRun(settings: OfflineSettings, runId: string): Promise<RunReport | RunSummary>;
  queryPublished(path: string, sql: string, options: { readonly maxRows?: number }): Promise<QueryResult>;
  startSimulator(options: SimulatorRequest): Promise<RunningSimulator>;
  readVersion(): Promise<string>;
}

/** Where the config is read from. */
export interface ConfigRequest {
  /** As the user gave it, so that messages name it that way. */
  readonly path: string;
  readonly env: NodeJS.ProcessEnv;
  readonly nowMs: number;
}

export interface Cancellable {
  readonly signal?: AbortSignal;
}

export interface Progressing extends Cancellable {
  readonly onProgress?: OnProgress;
}

/** How `simulate` and `demo` want the simulator. */
export interface SimulatorRequest {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly key?: string | undefined;
  readonly day: string;
  readonly seed?: number | undefined;
  readonly requestsPerHour?: number | undefined;
  readonly burstPerSecond?: number | undefined;
}

/** A simulator that is listening. */
export interface RunningSimulator {
  readonly baseUrl: string;
  readonly origin: string;
  readonly key: string;
  advanceDay(): void;
  close(): Promise<void>;
}
