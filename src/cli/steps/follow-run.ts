import { existsSync } from 'node:fs';
import path from 'node:path';
import { SyncError, toSyncError } from '../../model/errors.ts';
import { type EndedRun, type RunObserver, tellEnd } from '../../model/run-observer.ts';
import type { ConfigAccount } from '../../config/accounts.ts';
import { toReportedError } from '../../model/run-report.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import type { RefusalPlace } from '../../commands/refused-run.ts';
import type { Output } from '../terminal/output.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import type { ToldSettings } from '../frame/engine.ts';
import type { MetricFacts, ScheduleFacts } from '../../metrics/metric-facts.ts';
import type { AccountMetricsOptions } from '../../metrics/render-metrics.ts';
import { flagOption, patternOption } from '../options/option-kinds.ts';
import { usageError } from '../options/usage-error.ts';
import { followTraces, sendAccountsMetrics, sendMetrics } from './follow-telemetry.ts';
import { loadOfflineSettings, requestConfig } from './load-settings.ts';

/** Where metrics go after a run. */
export const metricsFileOption = patternOption({
  flag: 'metrics-file',
  valueName: 'file',
  summary: 'Write metrics there after the run, for a textfile collector: metrics.prom',
  group: 'Metrics:',
  example: '/var/lib/node_exporter/sluice.prom',
  pattern: /[^/\\]\.prom$/,
  problem: 'must be a file that ends in .prom',
});

/** Fewer series, for a config with many accounts. */
export const withoutStreamsOption = flagOption({
  flag: 'metrics-without-streams',
  summary: 'With accounts: one series per account instead of one per stream',
  group: 'Metrics:',
});

/** Throws a usage error where the config has one account, whose streams are few. */
export function refuseWithoutStreams(wanted: boolean | undefined): void {
  if (wanted !== true) return;
  throw usageError(
    '--metrics-without-streams is for a config with accounts, and this one has none',
    'Leave it out.',
  );
}

/** The absolute path of `--metrics-file`; throws a usage error where its folder is missing, before the run. */
export function resolveMetricsFile({ cwd }: CliContext, file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  const absolute = path.resolve(cwd, file);
  if (existsSync(path.dirname(absolute))) return absolute;
  throw usageError(
    `--metrics-file ${JSON.stringify(file)}: there is no folder ${path.dirname(absolute)}`,
    'Create the folder first. Nothing was requested.',
  );
}

/** What is known of the config when it could not be read in full. */
export interface KnownPlace {
  /** Without the key, where that is all that was missing. */
  readonly settings: ToldSettings | undefined;
  /** Where the run is recorded. */
  readonly place: RefusalPlace | undefined;
}

/** Finds where to record a run whose config or key was refused; `last`: the settings of a schedule's last run. */
export async function findPlace(
  context: CliContext,
  globals: GlobalValues,
  last?: ToldSettings,
): Promise<KnownPlace> {
  const settings = (await loadOfflineSettings(context, globals).catch(() => undefined)) ?? last;
  if (settings !== undefined) return { settings, place: { stateDir: settings.stateDir, guessed: false } };
  const stateDir = await context.engine.guessStateDir(requestConfig(context, globals)).catch(() => undefined);
  return { settings, place: stateDir === undefined ? undefined : { stateDir, guessed: true } };
}

/** Records a run that left no record of its own; a run that did clears this note. */
export function recordRefusals(
  { engine, output, signal }: CliContext,
  place: RefusalPlace | undefined,
): RunObserver {
  return {
    name: 'the record of the run',
    async onEnd({ startedAtMs, report, error }) {
      // A person who stopped or mistyped it has already seen why.
      if (place === undefined || signal.aborted || isMistyped(output, error)) return [];
      if (report !== undefined) {
        await engine.settleRefusal(place.stateDir).catch(() => undefined);
        return [];
      }
      const { message, hint, ...told } = toReportedError(error);
      const masked = { ...told, message: output.mask(message), hint: output.mask(hint) };
      const startedAt = new Date(startedAtMs).toISOString();
      await engine.keepRefusal(place, { startedAt, error: masked }).catch(() => undefined);
      return [];
    },
  };
}

/** Whether the command line was at fault: nothing is wrong with the data or its pipeline. */
export function isMistyped({ stderr }: Output, error: SyncError | undefined): boolean {
  if (error?.code === 'usage_invalid') return true;
  // In a job, a missing config is an alarm; at a terminal, `-c` names the wrong file.
  return error?.code === 'config_not_found' && stderr.isTerminal;
}

/** Sends the notices that the config asks for. */
export function sendNotices(
  { engine, clock, env, signal, output }: CliContext,
  settings: ToldSettings,
): RunObserver {
  return {
    name: 'notify',
    async onEnd({ report, error }) {
      // A person who stopped the run is watching it, and one who mistyped it has already seen why.
      if (signal.aborted || (output.stderr.isTerminal && isMistyped(output, error))) return [];
      const run = report === undefined ? { error: toReportedError(error) } : { report };
      try {
        return await engine.notifyRun(settings, run, { clock, env, signal });
      } catch (thrown) {
        // Not even a defect in a notice may change the outcome of the run.
        return [`no notice of the run could be sent: ${toSyncError(thrown).message}`];
      }
    },
  };
}

/** Counts the metrics after a run, and hands them on; without settings, only those of the run itself. */
export function countMetrics(
  { engine, clock }: CliContext,
  settings: OfflineSettings | undefined,
  keep: (facts: MetricFacts) => Promise<readonly string[]>,
): RunObserver {
  return {
    name: 'metrics',
    async onEnd({ startedAtMs, report, error }) {
      const endedAtMs = clock.now();
      const exitCode = report === undefined ? error.exitCode : report.exitCode;
      const counted = { exitCode, startedAtMs, endedAtMs, report };
      const { facts, warnings } = await engine.collectMetrics(settings, counted, endedAtMs);
      return [...warnings, ...(await keep(facts))];
    },
  };
}

/** A run of several accounts that was refused before any of them was begun. */
export interface RefusedAccounts {
  readonly ended: EndedRun;
  readonly chosen: readonly ConfigAccount[];
  readonly wantsMetrics: boolean;
  /** In a schedule, the settings of each account that were read last. */
  readonly last?: ReadonlyMap<string, ToldSettings>;
}

/** Records that with each account; returns the metrics of each, if they are wanted. */
export async function refuseAccounts(
  context: CliContext,
  globals: GlobalValues,
  { ended, chosen, wantsMetrics, last }: RefusedAccounts,
): Promise<{ readonly facts: ReadonlyMap<string, MetricFacts>; readonly warnings: readonly string[] }> {
  const facts = new Map<string, MetricFacts>();
  const warnings: string[] = [];
  for (const account of chosen) {
    const own = { ...context, account };
    const known = last?.get(account.name);
    const { place } = await findPlace(own, globals, known);
    const keep = (found: MetricFacts) => {
      facts.set(account.name, found);
      return Promise.resolve([]);
    };
    const metrics = wantsMetrics ? [countMetrics(own, known, keep)] : [];
    const observers = [
      recordRefusals(own, place),
      ...metrics,
      ...followTraces(own, { account: account.name }),
    ];
    warnings.push(...(await tellEnd(observers, ended)));
  }
  return { facts, warnings };
}

/** Sends the metrics and writes their file, where either is wanted; returns what went wrong, as warnings. */
export async function saveMetrics(
  context: CliContext,
  file: string | undefined,
  facts: MetricFacts,
  schedule?: ScheduleFacts,
): Promise<readonly string[]> {
  await sendMetrics(context, facts, schedule);
  if (file === undefined) return [];
  const { engine } = context;
  const unread = isUnread(facts) ? [undefined] : [];
  return writeMetrics(engine, { file, unread }, () => engine.renderMetrics(facts, schedule));
}

/** The same for several accounts: each series names its account. */
export async function saveAccountsMetrics(
  context: CliContext,
  file: string | undefined,
  facts: ReadonlyMap<string, MetricFacts>,
  options: AccountMetricsOptions,
): Promise<readonly string[]> {
  await sendAccountsMetrics(context, facts, options);
  if (file === undefined) return [];
  const { engine } = context;
  const unread = [...facts].flatMap(([account, own]) => (isUnread(own) ? [account] : []));
  return writeMetrics(engine, { file, unread }, () => engine.renderAccountMetrics(facts, options));
}

/** Whether nothing but the last run is known, as the config could not be read. */
function isUnread({ totals }: MetricFacts): boolean {
  return totals === undefined;
}

async function writeMetrics(
  engine: CliContext['engine'],
  { file, unread }: { readonly file: string; readonly unread: readonly (string | undefined)[] },
  render: () => Promise<string>,
): Promise<readonly string[]> {
  try {
    await engine.writeMetricsFile(file, await render(), unread);
    return [];
  } catch (thrown) {
    const { message } = thrown instanceof SyncError ? thrown : toSyncError(thrown);
    return [`the metrics file ${file} could not be written: ${message}`];
  }
}
