import type { ExitCode } from '../../model/errors.ts';
import type { CheckReport } from '../../model/reports.ts';
import type { ReportedError } from '../../model/run-report.ts';
import { defineCommand } from '../command.ts';
import { withName } from '../render/name-once.ts';
import { loadSettings } from './load-settings.ts';

/** Whether a sync would work. */
export const checkCommand = defineCommand({
  description:
    'Tests everything a sync needs and names a fix for each failure. At most one request a stream.',
  options: {},
  examples: [
    ['sluice check', 'With ./sluice.yaml'],
    ['sluice check -c /etc/sluice.yaml --json', 'For a script'],
  ],
  async run(context, { globals }) {
    const { signal, clock, output, engine } = context;
    const settings = await loadSettings(context, globals);
    const report = await engine.runChecks(settings, { signal });
    const { renderCheck, summarizeCheck } = await import('../render/render-check.ts');
    return {
      exitCode: report.exitCode as ExitCode,
      summary: summarizeCheck(report),
      result: report,
      text: renderCheck(report, output.stdout, clock.now()),
      error: nameItem(report),
    };
  },
});

/** The failure that the exit code stands for, with the item it befell. */
function nameItem({ error, items }: CheckReport): ReportedError | undefined {
  const item = items.find(({ status, detail }) => status === 'failed' && detail === error?.message);
  if (error === undefined || item === undefined) return error;
  return { ...error, message: withName(item.detail, item.name) };
}
