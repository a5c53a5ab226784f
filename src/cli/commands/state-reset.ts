import { defineAccountCommand } from '../steps/define-account-command.ts';
import { flagOption } from '../options/option-kinds.ts';
import { readStreamNames } from '../options/streams-argument.ts';
import { confirmChange } from '../steps/confirm-change.ts';
import { loadOfflineSettings } from '../steps/load-settings.ts';

/** Forgets checkpoints. */
export const stateResetCommand = defineAccountCommand({
  accounts: 'each',
  description:
    'Forgets checkpoints, so that the next sync reads their streams in full. Tables and archived pages stay.',
  argument: { name: 'streams', summary: 'stream names separated by commas', required: false },
  options: {
    dropTables: flagOption({
      flag: 'drop-tables',
      summary: 'Also drop tables, their history and quarantined records',
      group: 'Reset:',
    }),
    yes: flagOption({ flag: 'yes', summary: 'Do not ask', group: 'Reset:' }),
  },
  examples: [
    ['sluice state reset prompts_analytics', 'Shows what would be forgotten, and asks'],
    ['sluice state reset my_endpoint --drop-tables --yes', 'A stream that is no longer needed'],
  ],
  async run(context, { values, globals, argument }) {
    const streams = readStreamNames(argument);
    context.chooseStop('close');
    const settings = await loadOfflineSettings(context, globals);
    const question =
      values.dropTables === true ? 'Forget these, and drop their tables?' : 'Forget these checkpoints?';
    const choice = { yes: values.yes === true, isJson: globals.json === true };
    const report = await context.engine.resetState(settings, {
      ...(streams !== undefined && { streams }),
      ...(values.dropTables === true && { dropTables: true }),
      confirm: confirmChange(context, question, choice),
      signal: context.signal,
    });
    const { renderStateChange, summarizeStateChange } = await import('../../render/render-state.ts');
    return {
      exitCode: 0,
      summary: summarizeStateChange(report),
      result: report,
      text: renderStateChange(report, context.output.stdout.columns()),
    };
  },
});
