import { defineAccountCommand } from '../steps/define-account-command.ts';
import { loadOfflineSettings } from '../steps/load-settings.ts';

/** One quarantined record in full. */
export const quarantineShowCommand = defineAccountCommand({
  accounts: 'one',
  description: 'Shows one record in quarantine as it was received, with what is wrong with it.',
  argument: { name: 'ID', summary: 'its id, or the first digits of it', required: true },
  options: {},
  examples: [
    ['sluice quarantine show 3fa94c17b2', 'One record'],
    ['sluice quarantine show 3fa94c17b2 --json', 'The same for a script'],
  ],
  async run(context, { globals, argument = '' }) {
    context.chooseStop('quit');
    const settings = await loadOfflineSettings(context, globals, { contracts: 'ignored' });
    const found = await context.engine.showQuarantined(settings, argument);
    const { renderQuarantined, summarizeQuarantined } = await import('../../render/render-quarantine.ts');
    return {
      exitCode: 0,
      summary: summarizeQuarantined(found),
      result: found,
      text: renderQuarantined(found),
    };
  },
});
