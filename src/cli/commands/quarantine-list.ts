import { defineAccountCommand } from '../steps/define-account-command.ts';
import { countOption } from '../options/option-kinds.ts';
import { readStreamNames } from '../options/streams-argument.ts';
import { loadOfflineSettings } from '../steps/load-settings.ts';

const MOST_RECORDS = 20;

/** Records that could not become rows, and why. */
export const quarantineListCommand = defineAccountCommand({
  accounts: 'each',
  description:
    'Counts the records in quarantine by what is wrong with them, and lists the newest. ' +
    'Reads the published file: works while a sync runs.',
  argument: { name: 'streams', summary: 'stream names separated by commas', required: false },
  options: {
    limit: countOption({
      flag: 'limit',
      summary: `List at most this many records (default ${MOST_RECORDS})`,
      group: 'Output:',
      example: '100',
      min: 0,
      max: 100_000,
    }),
  },
  examples: [
    ['sluice quarantine list', 'Everything'],
    ['sluice quarantine list prompts_analytics --limit 100', 'One stream, more of its records'],
  ],
  async run(context, { values, globals, argument }) {
    context.chooseStop('quit');
    const streams = readStreamNames(argument);
    const settings = await loadOfflineSettings(context, globals, { contracts: 'ignored' });
    const list = await context.engine.listQuarantine(settings, {
      ...(streams !== undefined && { streams }),
      limit: values.limit ?? MOST_RECORDS,
    });
    const { renderQuarantine, summarizeQuarantine } = await import('../../render/render-quarantine.ts');
    return {
      exitCode: 0,
      summary: summarizeQuarantine(list),
      result: list,
      text: renderQuarantine(list, context.output.stdout.columns()),
    };
  },
});
