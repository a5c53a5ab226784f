import type { SchemaDiff } from '../../model/schema-report.ts';
import type { CommandOutcome } from '../frame/command.ts';
import { defineAccountCommand } from '../steps/define-account-command.ts';
import { flagOption, textOption } from '../options/option-kinds.ts';
import { readStreamNames } from '../options/streams-argument.ts';
import { loadOfflineSettings } from '../steps/load-settings.ts';

/** How contract files and learned columns differ. */
export const schemaDiffCommand = defineAccountCommand({
  accounts: 'each',
  description:
    'Compares the contract files with the learned columns; with --since, shows the columns that changed ' +
    'since a run. Reads the published file: works while a sync runs.',
  argument: { name: 'streams', summary: 'stream names separated by commas', required: false },
  options: {
    since: textOption({
      flag: 'since',
      valueName: 'run',
      summary: 'Show changes since this run instead, by its id',
      group: 'Compare:',
      example: 'nightly-2026-01-31',
    }),
    strict: flagOption({ flag: 'strict', summary: 'Exit with 4 when anything differs', group: 'Compare:' }),
  },
  examples: [
    ['sluice schema diff --strict', 'In CI: do the contract files still describe the tables?'],
    ['sluice schema diff --since nightly-2026-01-31', 'What changed since a run'],
  ],
  async run(context, { values, globals, argument }) {
    context.chooseStop('quit');
    const streams = readStreamNames(argument);
    const settings = await loadOfflineSettings(context, globals);
    const diff = await context.engine.diffSchema(settings, {
      ...(streams !== undefined && { streams }),
      ...(values.since !== undefined && { since: values.since }),
    });
    const { renderDiff, summarizeDiff } = await import('../../render/render-schema.ts');
    const summary = summarizeDiff(diff, values.since);
    const text = renderDiff(diff, values.since, context.output.stdout.columns());
    return { ...judge(diff, values.strict === true, summary), summary, result: diff, text };
  },
});

function judge(
  { differs }: SchemaDiff,
  isStrict: boolean,
  summary: string,
): Pick<CommandOutcome, 'exitCode' | 'error'> {
  if (!isStrict || !differs) return { exitCode: 0 };
  const hint =
    'Edit the contract file or ask the provider to fix the source. Without --strict this is exit code 0.';
  return { exitCode: 4, error: { code: 'strict_breach', message: summary, hint, exitCode: 4 } };
}
