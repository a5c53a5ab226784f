import { defineAccountCommand } from '../steps/define-account-command.ts';
import { formatCountOf } from '../../text/format-count.ts';
import { readStreamNames } from '../options/streams-argument.ts';
import { loadOfflineSettings } from '../steps/load-settings.ts';

/** The columns learned for each stream. */
export const schemaShowCommand = defineAccountCommand({
  accounts: 'each',
  description:
    'Shows the columns learned for each stream: type, field, and the run that added them. ' +
    'Reads the published file: works while a sync runs.',
  argument: { name: 'streams', summary: 'stream names separated by commas', required: false },
  options: {},
  examples: [
    ['sluice schema show', 'Every stream'],
    ['sluice schema show prompts_analytics --json', 'One stream, for a script'],
  ],
  async run(context, { globals, argument }) {
    context.chooseStop('quit');
    const streams = readStreamNames(argument);
    const settings = await loadOfflineSettings(context, globals);
    const schemas = await context.engine.showSchema(settings, { ...(streams !== undefined && { streams }) });
    const { renderSchemas } = await import('../../render/render-schema.ts');
    return {
      exitCode: 0,
      summary: `columns of ${formatCountOf(schemas.length, 'stream')}`,
      result: schemas,
      text: renderSchemas(schemas, context.output.stdout.columns()),
    };
  },
});
