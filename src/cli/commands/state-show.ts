import { defineAccountCommand } from '../steps/define-account-command.ts';
import { readStreamNames } from '../options/streams-argument.ts';
import { loadOfflineSettings } from '../steps/load-settings.ts';

/** What each scan reached. */
export const stateShowCommand = defineAccountCommand({
  accounts: 'each',
  description:
    'Shows each checkpoint: how far its stream was read, and what was learned about it. No request, no key. While a run has the work file open, the published file is read.',
  argument: { name: 'streams', summary: 'stream names separated by commas', required: false },
  options: {},
  examples: [
    ['sluice state show', 'Every checkpoint'],
    ['sluice state show prompts_analytics --json', 'One stream, with all details'],
  ],
  async run(context, { globals, argument }) {
    context.chooseStop('quit');
    const streams = readStreamNames(argument);
    const settings = await loadOfflineSettings(context, globals);
    const report = await context.engine.readState(settings, { ...(streams !== undefined && { streams }) });
    const { renderState, summarizeState } = await import('../../render/render-state.ts');
    return {
      exitCode: 0,
      summary: summarizeState(report),
      result: report,
      text: renderState(report, context.output.stdout.columns()),
    };
  },
});
