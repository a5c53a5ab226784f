import { capitalize } from '../../render/format-values.ts';
import { ConfigError, LockedError } from '../../model/errors.ts';
import type { StateReport } from '../../model/state-report.ts';
import { defineAccountCommand } from '../steps/define-account-command.ts';
import { textOption } from '../options/option-kinds.ts';
import { readStreamNames } from '../options/streams-argument.ts';
import { toSafeLine } from '../../render/safe-text.ts';
import { loadOfflineSettings } from '../steps/load-settings.ts';
import type { OutputKind } from '../steps/output-file.ts';

const exports: OutputKind = {
  replaces: 'what `sluice state export` wrote',
  isReplaced: (start) => /^\s*\{\s*"format"\s*:\s*"sluice-state"/.test(start),
  hint: 'Name a file, e.g. --output checkpoints.json, or leave out --output to print it.',
};

/** Checkpoints as JSON. */
export const stateExportCommand = defineAccountCommand({
  accounts: 'one',
  description:
    'Writes the checkpoints as JSON, to stdout or into a file. It contains no secret. `sluice state import FILE` reads it back.',
  argument: { name: 'streams', summary: 'stream names separated by commas', required: false },
  options: {
    output: textOption({
      flag: 'output',
      valueName: 'file',
      summary: 'Write this file instead of stdout (-); an earlier export is replaced',
      group: 'Export:',
      example: 'checkpoints.json',
    }),
  },
  examples: [
    ['sluice state export --output checkpoints.json', 'Before a change that may have to be undone'],
    ['sluice state export prompts_analytics', 'One stream, to stdout'],
  ],
  async run(context, { values, globals, argument }) {
    context.chooseStop('quit');
    const streams = readStreamNames(argument);
    const output = values.output === '-' ? undefined : values.output;
    const { findOutput, writeOutput } = await import('../steps/output-file.ts');
    const target = output === undefined ? undefined : await findOutput(context.cwd, output, exports);
    const settings = await loadOfflineSettings(context, globals);
    if (target !== undefined) {
      const { refuseOwnPlace } = await import('../steps/own-output.ts');
      refuseOwnPlace(context, settings, target);
    }
    const report = await context.engine.readState(settings, { ...(streams !== undefined && { streams }) });
    if (report.source === 'nothing') throw refuseNothing(report);
    const json = `${JSON.stringify(report.state, undefined, 2)}\n`;
    const { summarizeState } = await import('../../render/render-state.ts');
    const summary = summarizeState(report);
    if (target === undefined) return { exitCode: 0, summary, result: report.state, text: json };
    await writeOutput(target, json, context.randomHex(8));
    const { absolute: path } = target;
    const text = `${capitalize(summary)}.\nWritten: ${toSafeLine(path)}`;
    return { exitCode: 0, summary, result: { path, ...report.state }, text };
  },
});

/** A file without a checkpoint would take the place of a good one. */
function refuseNothing({ isInUse, path }: StateReport): ConfigError | LockedError {
  const context = { path };
  return isInUse
    ? new LockedError('a run has the work file open, and nothing is published yet', {
        code: 'state_locked',
        hint: 'Nothing was written. Wait for the run to end, and export again.',
        context,
      })
    : new ConfigError('there is no state to export: neither a work file nor a published file', {
        code: 'query_failed',
        hint: 'Nothing was written. Check stateDir and destination in the config; if nothing was synced with it, run `sluice sync` first.',
        context,
      });
}
