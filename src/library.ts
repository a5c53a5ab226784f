import { connectors } from '../connectors/registry.ts';
import { loadConfig, parseConfig } from './config/load-config.ts';
import { type ResolveOptions, resolveOfflineSettings, resolveSettings } from './config/resolve-settings.ts';
import { type Clock, systemClock } from './model/clock.ts';
import type { ConfigInput } from './model/config.ts';
import type { OnProgress } from './model/progress.ts';
import { toSyncError } from './model/errors.ts';
import type { CheckReport, PlanReport } from './model/reports.ts';
import { type EndedRun, type RunObserver, tellEnd } from './model/run-observer.ts';
import type { RunReport } from './model/run-report.ts';
import type { Settings, SyncOptions } from './model/settings.ts';

/** Options of the library's functions: those of the command line, and what a program has instead of a terminal. */
export interface LibraryOptions extends SyncOptions {
  readonly onProgress?: OnProgress;
  /** Ends the run after what is committed; its report then has exit code 130. */
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  /** Watch a sync: its events, and how it ended. What fails in one is a warning of the run. */
  readonly observers?: readonly RunObserver[];
}

export interface PlanSyncOptions extends LibraryOptions {
  /** Spend no request: sizes are those of the last scan. */
  readonly offline?: boolean;
}

/**
 * Runs one sync with a config object, or with the path of a `sluice.yaml`. What fails in a stream is in the
 * report; a SyncError is thrown only when the run could not start (config, another run, disk).
 */
export async function sync(config: ConfigInput | string, options: LibraryOptions = {}): Promise<RunReport> {
  const { clock = systemClock, observers = [] } = options;
  const startedAtMs = clock.now();
  const ended: EndedRun = await runOnce(config, options).then(
    (report) => ({ startedAtMs, report }),
    (thrown: unknown) => ({ startedAtMs, error: toSyncError(thrown) }),
  );
  const warnings = await tellEnd(observers, ended);
  if (ended.report === undefined) throw ended.error;
  const { report } = ended;
  return warnings.length === 0 ? report : { ...report, warnings: [...report.warnings, ...warnings] };
}

async function runOnce(config: ConfigInput | string, options: LibraryOptions): Promise<RunReport> {
  const settings = toSettings(config, options);
  const { runSync } = await import('./sync/run.ts');
  return runSync(settings, options);
}

/** Tells what the next sync would do, with at most one request a stream. */
export async function plan(config: ConfigInput | string, options: PlanSyncOptions = {}): Promise<PlanReport> {
  const { planOffline, planSync } = await import('./commands/plan/plan.ts');
  if (options.offline !== true) return planSync(toSettings(config, options), options);
  return planOffline(resolveOfflineSettings(toResolveOptions(config, options, 'optional')), options);
}

/** Tries everything a sync needs, with at most one request a stream. */
export async function check(
  config: ConfigInput | string,
  options: LibraryOptions = {},
): Promise<CheckReport> {
  const { runChecks } = await import('./commands/check.ts');
  return runChecks(toSettings(config, options), options);
}

function toSettings(config: ConfigInput | string, options: LibraryOptions): Settings {
  return resolveSettings(toResolveOptions(config, options, 'required'));
}

function toResolveOptions(
  config: ConfigInput | string,
  { clock = systemClock }: LibraryOptions,
  secrets: 'required' | 'optional',
): ResolveOptions {
  const { env } = process;
  const loaded =
    typeof config === 'string' ? loadConfig({ path: config, env, secrets }) : parseConfig(config);
  return { loaded, connectors, env, nowMs: clock.now() };
}
