import { resolve } from 'node:path';
import { readAtMost } from '../../files/read-at-most.ts';
import { defineAccountCommand } from '../steps/define-account-command.ts';
import { flagOption } from '../options/option-kinds.ts';
import { usageError } from '../options/usage-error.ts';
import { confirmChange } from '../steps/confirm-change.ts';
import { loadOfflineSettings } from '../steps/load-settings.ts';

/** Restores checkpoints. */
export const stateImportCommand = defineAccountCommand({
  accounts: 'one',
  description:
    'Replaces the current checkpoints with exported ones and publishes them. A checkpoint whose rows are missing from the table here is imported without its progress: the next sync reads that stream in full. Refused if the checkpoints are of another source, or if the tables here could not continue from them.',
  argument: { name: 'FILE', summary: 'what `sluice state export` wrote', required: true },
  options: { yes: flagOption({ flag: 'yes', summary: 'Do not ask', group: 'Import:' }) },
  examples: [
    ['sluice state import checkpoints.json', 'Shows what would change, and asks'],
    ['sluice state import checkpoints.json --yes', 'In a script'],
  ],
  async run(context, { values, globals, argument = '' }) {
    context.chooseStop('close');
    const settings = await loadOfflineSettings(context, globals);
    const text = read(resolve(context.cwd, argument), argument);
    const choice = { yes: values.yes === true, isJson: globals.json === true };
    const report = await context.engine.importState(settings, text, {
      confirm: confirmChange(context, 'Import these checkpoints?', choice),
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

/** Many accounts of many streams have less. */
const MOST_BYTES = 256 * 2 ** 20;

function read(path: string, given: string): string {
  const refuse = (what: string) =>
    usageError(`${given} ${what}`, 'Nothing was imported. `sluice state export --output FILE` writes one.');
  let bytes;
  try {
    bytes = readAtMost(path, MOST_BYTES);
  } catch (error) {
    throw refuse(describeFault(error));
  }
  if (bytes === undefined) throw refuse('has more than 256 MB, which no exported state has');
  return bytes.toString();
}

function describeFault(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown cause';
  if (code === 'EISDIR') return 'is a folder';
  return code === 'ENOENT' || code === 'ENOTDIR' ? 'does not exist' : `cannot be read (${code})`;
}
