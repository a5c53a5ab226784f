import type { ProgressEvent } from '../model/progress.ts';
import { judgeIdentity, rememberIdentity } from './identity.ts';
import { proveSameData } from './prove-same-data.ts';
import type { RunContext } from './run-context.ts';

/**
 * Checks key and destination of a run against its state and records them, before anything is written: a new key must
 * read the same data, a new destination is reported.
 *
 * @returns a message for the user
 */
export async function settleIdentity(context: RunContext): Promise<readonly ProgressEvent[]> {
  const { settings, database, options } = context;
  const { key, movedFrom, isBlank } = await judgeIdentity(settings, database, options);
  const notes: string[] = [];
  // For a state without a recorded key, only a new destination is a reason to check.
  const isRotated = !isBlank && (key === 'other' || (key === 'unknown' && movedFrom !== undefined));
  if (isRotated && options.acceptNewKey === true)
    notes.push('the new key was accepted without checking its data');
  else if (isRotated) {
    await proveSameData(context);
    notes.push('the key is new, and reads the same data as in the tables');
  }
  if (movedFrom !== undefined)
    notes.push(`the destination was ${movedFrom}: what is there stays unchanged and is no longer updated`);
  await rememberIdentity(settings, database);
  return notes.map((message) => ({ type: 'note', message }));
}
