import type { StatusReport } from '../../model/reports.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import { defineCommand } from '../frame/command.ts';
import type { CliContext } from '../frame/context.ts';
import { flagOption } from '../options/option-kinds.ts';
import { usageError } from '../options/usage-error.ts';
import { loadOfflineSettings } from '../steps/load-settings.ts';

const LOOKS_EVERY_MS = 2_000;
// A log, unlike a screen, keeps every look.
const LOGS_EVERY_MS = 30_000;
const CLEAR_SCREEN = '\u001b[H\u001b[2J';

/** How fresh and how complete the data is. */
export const statusCommand = defineCommand({
  description: 'Reads the published file and the state folder only: no request, no key, no lock.',
  options: {
    watch: flagOption({
      flag: 'watch',
      summary: 'Refresh every 2 s until the current run has ended',
      group: 'Looking:',
    }),
  },
  examples: [
    ['sluice status', 'With ./sluice.yaml'],
    ['sluice status --watch', 'During a long first sync, in a second terminal'],
    ['sluice status --json', 'For a monitor'],
  ],
  async run(context, { values, globals }) {
    context.chooseStop('quit');
    if (values.watch === true && globals.json === true)
      throw usageError(
        '--watch and --json exclude each other',
        'Run sluice status --json as often as you like.',
      );
    const settings = await loadOfflineSettings(context, globals);
    const report =
      values.watch === true
        ? await watchStatus(context, settings)
        : await context.engine.readStatus(settings);
    const { summarizeStatus } = await import('../render/render-status.ts');
    const text = await render(context, report);
    return { exitCode: 0, summary: summarizeStatus(report), result: report, text };
  },
});

/** Shows the status repeatedly while a run is in progress; returns the first one after it. */
async function watchStatus(context: CliContext, settings: OfflineSettings): Promise<StatusReport> {
  const { engine, clock, output, signal } = context;
  const { isTerminal } = output.stdout;
  for (;;) {
    const report = await engine.readStatus(settings);
    if (report.lastRun?.status !== 'running') return report;
    output.writeResult(`${isTerminal ? CLEAR_SCREEN : ''}${output.mask(await render(context, report))}\n`);
    await clock.sleep(isTerminal ? LOOKS_EVERY_MS : LOGS_EVERY_MS, signal);
  }
}

async function render({ clock, output }: CliContext, report: StatusReport): Promise<string> {
  const { renderStatus } = await import('../render/render-status.ts');
  return renderStatus(report, { nowMs: clock.now(), columns: output.stdout.columns() });
}
