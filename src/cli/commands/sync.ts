import { toSyncError } from '../../model/errors.ts';
import type { RunReport } from '../../model/run-report.ts';
import type { Settings } from '../../model/settings.ts';
import type { CommandOutcome } from '../command.ts';
import { defineCommand } from '../command.ts';
import type { CliContext, GlobalValues } from '../context.ts';
import { countRun, metricsFileOption, resolveMetricsFile, saveMetrics, tellPeople } from './follow-run.ts';
import { loadSettings } from './load-settings.ts';
import { planNextSync } from './plan.ts';
import { runOptions, selectionOptions, toRunOptions, toSelection } from './sync-options.ts';
import { type EndedSync, syncOnce } from './sync-once.ts';

/** One run. */
export const syncCommand = defineCommand({
  description:
    'Reads what is new, loads it and publishes the DuckDB file. Stopped at any point, the ' +
    'next sync goes on from there. Exit code 75: try again later, progress is saved.',
  options: { ...selectionOptions, ...runOptions, metricsFile: metricsFileOption },
  examples: [
    ['sluice sync', 'Everything that is not fresh; waits for the quota when it has to'],
    ['sluice sync --streams prompts_analytics --from 2026-01-31', 'One stream, from a date on'],
    ['sluice sync --max-wait 0 --deadline 50m --json', 'For a scheduled job'],
  ],
  async run(context, { values, globals }) {
    const selection = toSelection(values);
    // A plan is no run.
    const wanted = values.dryRun === true ? undefined : values.metricsFile;
    const metricsFile = resolveMetricsFile(context, wanted);
    const settings = await loadSettings(context, globals).catch(async (thrown: unknown) => {
      const ended = { startedAtMs: context.clock.now(), error: toSyncError(thrown) };
      await finish(context, globals, { settings: undefined, metricsFile, ended });
      throw thrown;
    });
    if (values.dryRun === true) return planNextSync(context, settings, selection);
    const ended = await syncOnce(context, globals, settings, { ...selection, ...toRunOptions(values) });
    await finish(context, globals, { settings, metricsFile, ended });
    if (ended.report === undefined) throw ended.error;
    return toSyncOutcome(ended.report, context);
  },
});

interface FinishedSync {
  readonly settings: Settings | undefined;
  readonly metricsFile: string | undefined;
  readonly ended: EndedSync;
}

/** Tells and counts a run; what goes wrong in that is a line of the log and no more. */
async function finish(
  context: CliContext,
  globals: GlobalValues,
  { settings, metricsFile, ended }: FinishedSync,
): Promise<void> {
  const warnings = settings === undefined ? [] : [...(await tellPeople(context, settings, ended))];
  if (metricsFile !== undefined) {
    const { facts, warnings: missing } = await countRun(context, settings, ended);
    warnings.push(...missing, ...(await saveMetrics(context, metricsFile, facts)));
  }
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
