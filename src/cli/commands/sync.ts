import type { RunReport } from '../../model/run-report.ts';
import type { CommandOutcome } from '../command.ts';
import { defineCommand } from '../command.ts';
import type { CliContext } from '../context.ts';
import { openProgressDisplay } from '../progress/open-display.ts';
import { loadSettings } from './load-settings.ts';
import { planNextSync } from './plan.ts';
import { runOptions, selectionOptions, toRunOptions, toSelection } from './sync-options.ts';

/** One run. */
export const syncCommand = defineCommand({
  description:
    'Reads what is new, loads it and publishes the DuckDB file. Stopped at any point, the ' +
    'next sync goes on from there. Exit code 75: try again later, progress is saved.',
  options: { ...selectionOptions, ...runOptions },
  examples: [
    ['sluice sync', 'Everything that is not fresh; waits for the quota when it has to'],
    ['sluice sync --streams prompts_analytics --from 2026-01-31', 'One stream, from a date on'],
    ['sluice sync --max-wait 0 --deadline 50m --json', 'For a scheduled job'],
  ],
  async run(context, { values, globals }) {
    const selection = toSelection(values);
    const settings = await loadSettings(context, globals);
    if (values.dryRun === true) return planNextSync(context, settings, selection);
    const display = await openProgressDisplay(context, globals);
    const options = { ...selection, ...toRunOptions(values), signal: context.signal };
    try {
      const report = await context.engine.runSync(settings, { ...options, onProgress: display.onProgress });
      display.close();
      return await toSyncOutcome(report, context);
    } finally {
      display.close();
    }
  },
});

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
