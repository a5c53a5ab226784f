import type { ConfirmChange } from '../../model/state-report.ts';
import type { CliContext } from '../frame/context.ts';
import { usageError } from '../options/usage-error.ts';
import { describeChanges } from '../../render/render-state.ts';
import { toSafeLine } from '../../render/safe-text.ts';
import { wrapText } from '../../render/wrap-text.ts';

/** Shows what is about to change and asks. Where nobody can answer, only `--yes` agrees. */
export function confirmChange(
  context: CliContext,
  question: string,
  choice: { readonly yes: boolean; readonly isJson: boolean },
): ConfirmChange {
  if (choice.yes) return () => Promise.resolve(true);
  return async (changes, warnings) => {
    const { prompt, output } = context;
    if (prompt === undefined || choice.isJson)
      throw usageError(
        'this changes what the next sync reads, and there is nobody to ask',
        'Run it on a terminal, or give --yes. Nothing was changed.',
      );
    const lines = [...describeChanges(changes), ...warnings.map((text) => `warning: ${toSafeLine(text)}`)];
    output.writeNote(wrapText(lines.join('\n'), output.stderr.columns()));
    return /^y(es)?$/i.test(await prompt(question, 'no'));
  };
}
