import type { ConfigEntry } from '../../config/config-entry.ts';
import { defineAccountCommand } from '../steps/define-account-command.ts';
import { formatCountOf } from '../../text/format-count.ts';
import { requestConfig } from '../steps/load-settings.ts';

/** The settings in effect, and where each comes from. */
export const configShowCommand = defineAccountCommand({
  accounts: 'each',
  description: 'Shows every setting in effect and where it comes from. Never shows a secret.',
  options: {},
  examples: [
    ['sluice config show', 'With ./sluice.yaml'],
    ['sluice config show --json', 'For a script'],
  ],
  async run(context, { globals }) {
    context.chooseStop('quit');
    const entries = await context.engine.explainConfig(requestConfig(context, globals));
    return {
      exitCode: 0,
      summary: formatCountOf(entries.length, 'setting'),
      result: entries,
      text: await renderEntries(entries, context.output.stdout.columns()),
    };
  },
});

async function renderEntries(entries: readonly ConfigEntry[], columns: number | undefined): Promise<string> {
  const { drawFittingTable } = await import('../../render/fitting-table.ts');
  const { toSafeCell } = await import('../../render/safe-text.ts');
  return drawFittingTable(
    [{ title: 'SETTING' }, { title: 'VALUE' }, { title: 'FROM' }],
    entries.map(({ key, value, origin, detail }) => [
      toSafeCell(key),
      value === null ? 'not set' : toSafeCell(String(value)),
      toSafeCell(detail === '' ? origin : `${origin} ${detail}`),
    ]),
    columns,
  );
}
