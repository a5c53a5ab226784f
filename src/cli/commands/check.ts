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
      error: toError(report, summarizeCheck(report)),
    };
  },
});

function toError(report: CheckReport, summary: string): ReportedError | undefined {
  if (report.exitCode === 0) return undefined;
  const failed = report.items.find(({ status }) => status === 'failed');
  const exitCode = report.exitCode as ExitCode;
  return {
    code: exitCode === 3 ? 'key_rejected' : exitCode === 75 ? 'quota_exhausted' : 'config_invalid',
    message: failed === undefined ? summary : withName(failed.detail, failed.name),
    hint: failed?.fix ?? 'Run sluice check to see each item.',
    exitCode,
  };
}
