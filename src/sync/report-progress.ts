import type { OnProgress, ProgressEvent } from '../model/progress.ts';
import { type RunObserver, tellEvent } from '../model/run-observer.ts';
import type { Settings } from '../model/settings.ts';
import { hideSecrets } from '../storage/hide-secrets.ts';
import { nameWarning } from './record-run.ts';

/** Passes events to the observers of a run, with secrets hidden, and collects the warnings. */
export function createProgressReporter(
  settings: Settings,
  warnings: string[],
  observers: readonly RunObserver[],
): OnProgress {
  return (said) => {
    const event = hasOwnText(said) ? hideSecrets(settings, said) : said;
    if (event.type === 'warning') warnings.push(nameWarning(event));
    // A failing display must not affect the data.
    for (const message of tellEvent(observers, event))
      if (!warnings.includes(message)) warnings.push(message);
  };
}

/** The function of a caller, as an observer. */
export function observeWith(onProgress: OnProgress | undefined): readonly RunObserver[] {
  return onProgress === undefined ? [] : [{ name: 'onProgress', onEvent: onProgress }];
}

/** Whether an event has text of its own; a report was checked when it was made. */
function hasOwnText({ type }: ProgressEvent): boolean {
  return type === 'warning' || type === 'note' || type === 'stream-restarted';
}
