import { type MetricFacts, noFacts } from '../../metrics/metric-facts.ts';
import { type SyncError, toSyncError } from '../../model/errors.ts';
import { tellEnd } from '../../model/run-observer.ts';
import type { Settings, SyncOptions } from '../../model/settings.ts';
import type { CronSchedule } from '../../schedule/cron-schedule.ts';
import type { ScheduleOptions } from '../../schedule/run-schedule.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import type { ToldSettings } from '../frame/engine.ts';
import type { LogWriter } from '../progress/log-writer.ts';
import { type ChosenAccounts, chooseAccounts, listChosen } from '../steps/choose-accounts.ts';
import { findPlace, recordRefusals, refuseAccounts, refuseWithoutStreams } from '../steps/follow-run.ts';
import { loadOfflineSettings, loadSettings } from '../steps/load-settings.ts';
import type { ScheduledRuns } from './schedule-record.ts';
import type { AccountMetricsTarget } from './scheduled-accounts.ts';
import { provedByStart, ScheduledSyncs } from './scheduled-syncs.ts';

/** One config, or some of the accounts of one. */
type Prepared =
  | { readonly settings: Settings; readonly chosen?: undefined }
  | { readonly settings?: undefined; readonly chosen: ChosenAccounts };

/** What is to be synced. What keeps it from starting is recorded. */
export async function prepareSchedule(
  context: CliContext,
  globals: GlobalValues,
  patterns: readonly string[] | undefined,
): Promise<Prepared> {
  const startedAtMs = context.clock.now();
  try {
    const chosen = await chooseAccounts(context, globals, patterns);
    if (chosen === undefined) return { settings: await loadSettings(context, globals) };
    await refuseCommonMistake(context, globals, chosen);
    return { chosen };
  } catch (thrown) {
    const ended = { startedAtMs, error: toSyncError(thrown) };
    const known = await listChosen(context, globals, patterns).catch(() => undefined);
    if (known !== undefined)
      await refuseAccounts(context, globals, { ended, chosen: known.chosen, wantsMetrics: false });
    else await tellEnd([recordRefusals(context, (await findPlace(context, globals)).place)], ended);
    throw thrown;
  }
}

/** What is wrong with one account is found and recorded by its runs; what is wrong with all of them ends the start. */
async function refuseCommonMistake(
  context: CliContext,
  globals: GlobalValues,
  { chosen }: ChosenAccounts,
): Promise<void> {
  const errors: SyncError[] = [];
  for (const account of chosen) {
    const error = await loadSettings({ ...context, account }, globals).then(() => undefined, toSyncError);
    if (error?.exitCode !== 2) return;
    errors.push(error);
  }
  const [first] = errors;
  if (first !== undefined) throw first;
}

/** What a schedule begins with, whatever it syncs. */
export interface Beginning {
  readonly context: CliContext;
  readonly globals: GlobalValues;
  readonly sync: SyncOptions;
  readonly metrics: AccountMetricsTarget;
  readonly log: LogWriter;
  readonly schedule: CronSchedule;
  /** `--now`. */
  readonly isAsked: boolean;
}

/** Why a run begins at the start, if one does, and the runs. */
interface Begun {
  readonly atStart: ScheduleOptions['atStart'];
  readonly syncs: ScheduledRuns;
}

/** The runs of a config without accounts. */
export async function startOne(beginning: Beginning, settings: Settings): Promise<Begun> {
  const { context, metrics, schedule, sync, isAsked } = beginning;
  const { engine, clock } = context;
  refuseWithoutStreams(metrics.withoutStreams);
  if (sync.streams !== undefined) {
    const { selectStreams } = await import('../../config/select-streams.ts');
    selectStreams(settings, sync.streams);
  }
  const isOwed = await engine.owesRun(schedule, settings, clock.now());
  const atStart = isAsked ? 'asked' : isOwed ? 'catch-up' : undefined;
  // A run at the start will show whether the cause is fixed; without one, starting up has shown that these are.
  if (atStart === undefined) await engine.settleRefusal(settings.stateDir, provedByStart);
  const { facts } = metrics.isWanted
    ? await engine.collectMetrics(settings, undefined, clock.now())
    : { facts: noFacts };
  const { file: metricsFile, isWanted: wantsMetrics } = metrics;
  return { atStart, syncs: new ScheduledSyncs({ ...beginning, metricsFile, wantsMetrics, settings, facts }) };
}

/** The runs of a config with accounts. */
export async function startAccounts(
  beginning: Beginning,
  known: ChosenAccounts,
  patterns: readonly string[] | undefined,
): Promise<Begun> {
  const { context, globals, metrics, schedule, isAsked } = beginning;
  const { engine, clock } = context;
  const facts = new Map<string, MetricFacts>();
  const last = new Map<string, ToldSettings>();
  let isOwed = false;
  for (const account of known.chosen) {
    // What is wrong with one account is found and recorded by its runs.
    const settings = await loadOfflineSettings({ ...context, account }, globals).catch(() => undefined);
    if (settings === undefined) continue;
    last.set(account.name, settings);
    isOwed ||= await engine.owesRun(schedule, settings, clock.now());
    if (!metrics.isWanted) continue;
    facts.set(account.name, (await engine.collectMetrics(settings, undefined, clock.now())).facts);
  }
  const atStart = isAsked ? 'asked' : isOwed ? 'catch-up' : undefined;
  const { ScheduledAccounts } = await import('./scheduled-accounts.ts');
  return { atStart, syncs: new ScheduledAccounts({ ...beginning, patterns, facts, known, last }) };
}
