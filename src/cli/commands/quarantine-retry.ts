import type { RetryReport } from '../../model/quarantine-report.ts';
import type { CommandOutcome } from '../frame/command.ts';
import { defineAccountCommand } from '../steps/define-account-command.ts';
import type { CliContext } from '../frame/context.ts';
import { readStreamNames } from '../options/streams-argument.ts';
import { loadOfflineSettings } from '../steps/load-settings.ts';

/** Loads quarantined records that the contract now allows. */
export const quarantineRetryCommand = defineAccountCommand({
  accounts: 'each',
  description:
    'Re-checks quarantined records against the current contract, loads those it accepts by key, and publishes: ' +
    'no request, no key. A record older than the row with its key is dropped.',
  argument: { name: 'streams', summary: 'stream names separated by commas', required: false },
  options: {},
  examples: [
    ['sluice quarantine retry', 'Every stream'],
    ['sluice quarantine retry prompts_analytics', 'One stream, after its contract changed'],
  ],
  async run(context, { globals, argument }) {
    const streams = readStreamNames(argument);
    const settings = await loadOfflineSettings(context, globals);
    const report = await context.engine.retryQuarantine(settings, {
      ...(streams !== undefined && { streams }),
      signal: context.signal,
    });
    return toOutcome(report, context);
  },
});

async function toOutcome(report: RetryReport, { output }: CliContext): Promise<CommandOutcome> {
  const { renderRetry, summarizeRetry } = await import('../../render/render-quarantine.ts');
  return {
    exitCode: report.exitCode,
    summary: summarizeRetry(report),
    result: report,
    text: renderRetry(report, output.stdout.columns()),
    error: report.error ?? report.streams.find(({ error }) => error !== undefined)?.error,
  };
}
