import { toSyncError } from '../../model/errors.ts';
import type { MetricFacts } from '../../metrics/metric-facts.ts';
import { type EndedRun, tellEnd } from '../../model/run-observer.ts';
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
  recordRefusals,
  resolveMetricsFile,
  saveMetrics,
  sendNotices,
} from '../steps/follow-run.ts';
import { loadSettings } from '../steps/load-settings.ts';
import { planNextSync } from './plan.ts';
import { runOptions, selectionOptions, toRunOptions, toSelection } from '../steps/sync-options.ts';
import { syncOnce } from '../steps/sync-once.ts';

/** One run. */
export const syncCommand = defineCommand({
  description:
    'Reads what is new, loads it and publishes the DuckDB file. Stopped at any point, the ' +
    'next sync continues from there. Exit code 75: try again later, progress is saved.',
  options: { ...selectionOptions, ...runOptions, metricsFile: metricsFileOption },
  examples: [
    ['sluice sync', 'Everything that is not fresh; waits for the quota when it has to'],
    ['sluice sync --streams prompts_analytics --from 2026-01-31', 'One stream, from a date on'],
    ['sluice sync --max-wait 0 --deadline 50m --json', 'For a scheduled job'],
  ],
  async run(context, { values, globals }) {
    const selection = toSelection(values);
    // A plan is not a run.
    if (values.dryRun === true) return planNextSync(context, await loadSettings(context, globals), selection);
    const { settings, metricsFile } = await prepare(context, globals, values.metricsFile);
    const ended = await syncOnce(context, globals, settings, { ...selection, ...toRunOptions(values) });
    const place = { stateDir: settings.stateDir, guessed: false };
    await finish(context, globals, { settings, place, metricsFile, ended });
    if (ended.report === undefined) throw ended.error;
    return toSyncOutcome(ended.report, context);
  },
});

/** Everything a run needs. What keeps it from starting is reported and recorded like the end of a run. */
async function prepare(context: CliContext, globals: GlobalValues, wantedFile: string | undefined) {
  const startedAtMs = context.clock.now();
  let metricsFile: string | undefined;
  try {
    metricsFile = resolveMetricsFile(context, wantedFile);
    return { settings: await loadSettings(context, globals), metricsFile };
  } catch (thrown) {
    const ended = { startedAtMs, error: toSyncError(thrown) };
    await finish(context, globals, { ...(await findPlace(context, globals)), metricsFile, ended });
    throw thrown;
  }
}

interface FinishedSync extends KnownPlace {
  readonly settings: ToldSettings | undefined;
  readonly metricsFile: string | undefined;
  readonly ended: EndedRun;
}

/** Sends notices and counts metrics; a failure in that is only a line in the log. */
async function finish(
  context: CliContext,
  globals: GlobalValues,
  { settings, place, metricsFile, ended }: FinishedSync,
): Promise<void> {
  const save = (facts: MetricFacts) => saveMetrics(context, metricsFile, facts);
  const warnings = await tellEnd(
    [
      recordRefusals(context, place),
      ...(settings === undefined ? [] : [sendNotices(context, settings)]),
      ...(metricsFile === undefined ? [] : [countMetrics(context, settings, save)]),
    ],
    ended,
  );
  if (warnings.length === 0) return;
  const { openLog } = await import('../progress/open-log.ts');
  const log = await openLog(context, globals);
  for (const message of warnings) log({ level: 'warn', message, fields: { type: 'warning', message } });
}

async function toSyncOutcome(report: RunReport, { clock, output }: CliContext): Promise<CommandOutcome> {
  const { renderRunReport } = await import('../render/render-sync.ts');
  const { summarizeRun } = await import('../render/describe-run.ts');
  return {
    exitCode: report.exitCode,
    summary: summarizeRun(report),
    result: report,
    text: renderRunReport(report, { nowMs: clock.now(), columns: output.stdout.columns() }),
    error: report.error ?? report.streams.find(({ error }) => error !== undefined)?.error,
  };
}
