import { toSyncError } from '../../model/errors.ts';
import type { MetricFacts } from '../../metrics/metric-facts.ts';
import { type EndedRun, type RunObserver, tellEnd } from '../../model/run-observer.ts';
import type { RunReport } from '../../model/run-report.ts';
import type { CommandOutcome } from '../frame/command.ts';
import { defineCommand } from '../frame/command.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import type { ToldSettings } from '../frame/engine.ts';
import {
  countMetrics,
  findPlace,
  type KnownPlace,
  metricsFileOption,
  refuseWithoutStreams,
  withoutStreamsOption,
  recordRefusals,
  refuseAccounts,
  type RefusedAccounts,
  resolveMetricsFile,
  saveAccountsMetrics,
  saveMetrics,
  sendNotices,
} from '../steps/follow-run.ts';
import { followTraces, sendsMetrics, withTelemetry } from '../steps/follow-telemetry.ts';
import { loadSettings } from '../steps/load-settings.ts';
import { type DagsterObserver, reportToDagster } from '../steps/report-to-dagster.ts';
import { planNextSync } from './plan.ts';
import { runOptions, selectionOptions, toRunOptions, toSelection } from '../steps/sync-options.ts';
import { syncOnce } from '../steps/sync-once.ts';
import { accountsOption, type ChosenAccounts, chooseAccounts, listChosen } from '../steps/choose-accounts.ts';
import { runForEach } from '../steps/define-account-command.ts';
import { readsFresh, type Settings, type SyncOptions } from '../../model/settings.ts';
import { nameAccountsDeep } from '../../text/name-accounts.ts';
import { withName } from '../../text/name-once.ts';

/** One run. */
export const syncCommand = defineCommand({
  description:
    'Reads what is new, loads it and publishes the tables. Stopped at any point, the ' +
    'next sync continues from there. Exit code 75: try again later, progress is saved.',
  options: {
    ...selectionOptions,
    ...runOptions,
    metricsFile: metricsFileOption,
    withoutStreams: withoutStreamsOption,
    accounts: accountsOption,
  },
  examples: [
    ['sluice sync', 'Everything that is not fresh; waits for the quota when it has to'],
    ['sluice sync --streams prompts_analytics --from 2026-01-31', 'One stream, from a date on'],
    ['sluice sync --max-wait 0 --deadline 50m --json', 'For a scheduled job'],
  ],
  async run(context, { values, globals }) {
    const selection = toSelection(values);
    // A plan is not a run.
    if (values.dryRun === true)
      return planInstead(context, globals, { selection, accounts: values.accounts });
    return withTelemetry(context, globals, { isWithinTrace: true }, (traced) =>
      runSelected(traced, globals, { selection, values }),
    );
  },
});

/** One run of each account, or the one of a config without accounts. */
async function runSelected(
  context: CliContext,
  globals: GlobalValues,
  {
    selection,
    values,
  }: {
    readonly selection: SyncOptions;
    readonly values: WantedSync & Parameters<typeof toRunOptions>[0];
  },
): Promise<CommandOutcome> {
  const followers = { traces: followTraces(context, {}), dagster: await reportToDagster(context) };
  const { settings, chosen, metricsFile } = await prepare(context, globals, { ...values, followers });
  const sync = { ...selection, ...toRunOptions(values) };
  const { withoutStreams } = values;
  if (settings === undefined)
    return runAll(context, globals, {
      chosen,
      sync,
      metricsFile,
      withoutStreams: withoutStreams === true,
      dagster: followers.dagster,
    });
  const ended = await syncOnce(context, globals, settings, { ...sync, observers: followers.traces });
  const place = { stateDir: settings.stateDir, guessed: false };
  await finish(context, globals, { settings, place, metricsFile, ended, followers });
  if (ended.report === undefined) throw ended.error;
  return toSyncOutcome(context, ended.report, selection);
}

async function planInstead(
  context: CliContext,
  globals: GlobalValues,
  {
    selection,
    accounts,
  }: { readonly selection: SyncOptions; readonly accounts: readonly string[] | undefined },
): Promise<CommandOutcome> {
  const chosen = await chooseAccounts(context, globals, accounts);
  const planOne = async (own: CliContext) => planNextSync(own, await loadSettings(own, globals), selection);
  return chosen === undefined ? planOne(context) : runForEach({ context, globals, chosen }, planOne);
}

/** All accounts of the config, or those that were named. */
async function runAll(
  context: CliContext,
  globals: GlobalValues,
  {
    chosen,
    sync,
    metricsFile,
    withoutStreams,
    dagster,
  }: {
    readonly chosen: ChosenAccounts;
    readonly sync: SyncOptions;
    readonly metricsFile: string | undefined;
    readonly withoutStreams: boolean;
    readonly dagster: DagsterObserver | undefined;
  },
): Promise<CommandOutcome> {
  const { syncAccounts } = await import('../steps/sync-accounts.ts');
  const wantsMetrics = metricsFile !== undefined || sendsMetrics(context);
  const { report, facts } = await syncAccounts(context, globals, chosen, { sync, wantsMetrics });
  await warn(context, globals, [
    ...(await saveAccountsMetrics(context, metricsFile, facts, { withoutStreams })),
    ...(dagster?.onAccountsEnd(report) ?? []),
  ]);
  const { renderAccountsReport, summarizeAccounts } = await import('../../render/render-accounts-sync.ts');
  const { clock, output } = context;
  const accounts = report.accounts.map((one) => nameAccountsDeep(one, [one.account]));
  const failed = accounts.find(({ exitCode }) => exitCode !== 0);
  return {
    exitCode: report.exitCode,
    summary: summarizeAccounts(report),
    result: { ...report, accounts },
    text: renderAccountsReport(report, { nowMs: clock.now(), columns: output.stdout.columns() }),
    error:
      failed?.error === undefined
        ? report.error
        : { ...failed.error, message: withName(failed.error.message, failed.account) },
  };
}

type Prepared = { readonly metricsFile: string | undefined } & (
  | { readonly settings: Settings; readonly chosen?: undefined }
  | { readonly settings?: undefined; readonly chosen: ChosenAccounts }
);

/** What the command line asks for. */
interface WantedSync {
  readonly metricsFile: string | undefined;
  readonly accounts: readonly string[] | undefined;
  readonly withoutStreams: boolean | undefined;
}

/** Everything a run needs. What keeps it from starting is reported and recorded like the end of a run. */
async function prepare(
  context: CliContext,
  globals: GlobalValues,
  { followers, ...wanted }: WantedSync & Pick<FinishedSync, 'followers'>,
): Promise<Prepared> {
  const startedAtMs = context.clock.now();
  let metricsFile: string | undefined;
  try {
    metricsFile = resolveMetricsFile(context, wanted.metricsFile);
    const chosen = await chooseAccounts(context, globals, wanted.accounts);
    if (chosen !== undefined) return { chosen, metricsFile };
    refuseWithoutStreams(wanted.withoutStreams);
    return { settings: await loadSettings(context, globals), metricsFile };
  } catch (thrown) {
    const ended = { startedAtMs, error: toSyncError(thrown) };
    const known = await listChosen(context, globals, wanted.accounts).catch(() => undefined);
    if (known === undefined)
      await finish(context, globals, {
        ...(await findPlace(context, globals)),
        metricsFile,
        ended,
        followers,
      });
    else {
      const { dagster } = followers;
      const { chosen } = known;
      await finishAccounts(context, globals, { ...wanted, metricsFile, ended, chosen, dagster });
    }
    throw thrown;
  }
}

/** The same where no account was begun. */
async function finishAccounts(
  context: CliContext,
  globals: GlobalValues,
  {
    metricsFile,
    withoutStreams,
    dagster,
    ...refused
  }: Omit<RefusedAccounts, 'wantsMetrics'> & {
    readonly metricsFile: string | undefined;
    readonly withoutStreams: boolean | undefined;
    readonly dagster: DagsterObserver | undefined;
  },
): Promise<void> {
  const wantsMetrics = metricsFile !== undefined || sendsMetrics(context);
  const { facts, warnings } = await refuseAccounts(context, globals, { ...refused, wantsMetrics });
  const options = { withoutStreams: withoutStreams === true };
  await warn(context, globals, [
    ...warnings,
    ...(await saveAccountsMetrics(context, metricsFile, facts, options)),
    ...(dagster === undefined ? [] : await tellEnd([dagster], refused.ended)),
  ]);
}

interface FinishedSync extends KnownPlace {
  readonly settings: ToldSettings | undefined;
  readonly metricsFile: string | undefined;
  readonly ended: EndedRun;
  readonly followers: Followers;
}

/** Other people's tools that are told of a run. */
interface Followers {
  /** They see each event, too. */
  readonly traces: readonly RunObserver[];
  readonly dagster: DagsterObserver | undefined;
}

/** Sends notices and counts metrics; a failure in that is only a line in the log. */
async function finish(
  context: CliContext,
  globals: GlobalValues,
  { settings, place, metricsFile, ended, followers }: FinishedSync,
): Promise<void> {
  const save = (facts: MetricFacts) => saveMetrics(context, metricsFile, facts);
  const warnings = await tellEnd(
    [
      ...followers.traces,
      recordRefusals(context, place),
      ...(settings === undefined ? [] : [sendNotices(context, settings)]),
      ...(metricsFile === undefined && !sendsMetrics(context) ? [] : [countMetrics(context, settings, save)]),
      ...(followers.dagster === undefined ? [] : [followers.dagster]),
    ],
    ended,
  );
  await warn(context, globals, warnings);
}

async function warn(context: CliContext, globals: GlobalValues, warnings: readonly string[]): Promise<void> {
  if (warnings.length === 0) return;
  const { openLog } = await import('../progress/open-log.ts');
  const log = await openLog(context, globals);
  for (const message of warnings) log({ level: 'warn', message, fields: { type: 'warning', message } });
}

async function toSyncOutcome(
  { clock, output }: CliContext,
  report: RunReport,
  selection: SyncOptions,
): Promise<CommandOutcome> {
  const { renderRunReport } = await import('../../render/render-sync.ts');
  const { adviseOnRepeat, summarizeRun } = await import('../../render/describe-run.ts');
  const { wrapText } = await import('../../render/wrap-text.ts');
  const columns = output.stdout.columns();
  const text = renderRunReport(report, { nowMs: clock.now(), columns });
  const repeat = readsFresh(selection) ? adviseOnRepeat(report) : '';
  return {
    exitCode: report.exitCode,
    summary: summarizeRun(report),
    result: report,
    text: repeat === '' ? text : `${text}\n${wrapText(repeat, columns)}`,
    error: report.error ?? report.streams.find(({ error }) => error !== undefined)?.error,
  };
}
