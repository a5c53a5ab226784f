import type { RebuildReport } from '../../model/reports.ts';
import type { CommandOutcome } from '../frame/command.ts';
import { defineAccountCommand } from '../steps/define-account-command.ts';
import type { CliContext } from '../frame/context.ts';
import { flagOption } from '../options/option-kinds.ts';
import { readStreamNames } from '../options/streams-argument.ts';
import { openProgressDisplay } from '../progress/open-display.ts';
import { loadOfflineSettings } from '../steps/load-settings.ts';

/** Rebuilds tables from the pages that earlier syncs archived. */
export const rebuildCommand = defineAccountCommand({
  accounts: 'each',
  description:
    'Rebuilds tables from archived pages using the current config, and publishes them: no request, no key. ' +
    'A stream whose archive is incomplete is refused, and its table stays unchanged.',
  argument: { name: 'streams', summary: 'stream names separated by commas', required: false },
  options: {
    dryRun: flagOption({ flag: 'dry-run', summary: 'Only show what would be loaded', group: 'Rebuild:' }),
    archivedOnly: flagOption({
      flag: 'archived-only',
      summary: 'Leave out rows that the archive no longer holds',
      group: 'Rebuild:',
    }),
  },
  examples: [
    ['sluice rebuild --dry-run', 'What the archive holds'],
    ['sluice rebuild prompts_analytics', 'One table, after its contract or columns changed'],
  ],
  async run(context, { values, globals, argument }) {
    context.chooseStop('close');
    const streams = readStreamNames(argument);
    const settings = await loadOfflineSettings(context, globals);
    const display = await openProgressDisplay(context, globals);
    try {
      const report = await context.engine.rebuildStreams(settings, {
        ...(streams !== undefined && { streams }),
        ...(values.dryRun === true && { dryRun: true }),
        ...(values.archivedOnly === true && { archivedOnly: true }),
        signal: context.signal,
        onProgress: display.onProgress,
      });
      display.close();
      // The rows are back: what kept a sync from restoring its state is settled.
      if (report.exitCode === 0 && values.dryRun !== true)
        await context.engine.settleRefusal(settings.stateDir, ['state_damaged']);
      return await toOutcome(report, context);
    } finally {
      display.close();
    }
  },
});

async function toOutcome(report: RebuildReport, { output }: CliContext): Promise<CommandOutcome> {
  const { renderRebuild, summarizeRebuild } = await import('../../render/render-rebuild.ts');
  return {
    exitCode: report.exitCode,
    summary: summarizeRebuild(report),
    result: report,
    text: renderRebuild(report, output.stdout.columns()),
    error: report.error ?? report.streams.find(({ error }) => error !== undefined)?.error,
  };
}
