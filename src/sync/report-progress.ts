import type { OnProgress, ProgressEvent } from '../model/progress.ts';
import type { Settings } from '../model/settings.ts';
import { hideSecrets } from '../storage/hide-secrets.ts';
import { nameWarning } from './record-run.ts';

/** Passes events to the observer of a run, with secrets hidden, and collects the warnings. */
export function createProgressReporter(
  settings: Settings,
  warnings: string[],
  onProgress: OnProgress | undefined,
): OnProgress {
  return (said) => {
    const event = hasOwnText(said) ? hideSecrets(settings, said) : said;
    if (event.type === 'warning') warnings.push(nameWarning(event));
    try {
      onProgress?.(event);
    } catch (thrown) {
      // A failing display must not affect the data.
      const message = `onProgress threw: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
      if (!warnings.includes(message)) warnings.push(message);
    }
  };
}

/** Whether an event says something in words of its own; a report was looked through when it was made. */
function hasOwnText({ type }: ProgressEvent): boolean {
  return type === 'warning' || type === 'note' || type === 'stream-restarted';
}
