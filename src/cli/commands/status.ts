import { defineCommand } from '../command.ts';
import { loadOfflineSettings } from './load-settings.ts';

/** How fresh and how complete the data is. */
export const statusCommand = defineCommand({
  description: 'Reads the published file only: no request, no key, no lock.',
  options: {},
  examples: [
    ['sluice status', 'With ./sluice.yaml'],
    ['sluice status --json', 'For a monitor'],
  ],
  async run(context, { globals }) {
    context.chooseStop('quit');
    const settings = await loadOfflineSettings(context, globals);
    const report = await context.engine.readStatus(settings);
    const { renderStatus, summarizeStatus } = await import('../render/render-status.ts');
    const text = renderStatus(report, {
      nowMs: context.clock.now(),
      columns: context.output.stdout.columns(),
    });
    return { exitCode: 0, summary: summarizeStatus(report), result: report, text };
  },
});
