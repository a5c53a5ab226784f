import type { ProgressEvent } from '../model/progress.ts';
import { judgeIdentity, rememberIdentity } from './identity.ts';
import { proveSameData } from './prove-same-data.ts';
import type { RunContext } from './run-context.ts';

/**
 * Makes key and destination of a run those of its state, before anything is written: a new key has to show that it reads
 * the same data, a new destination is told.
 *
 * @returns what to tell people
 */
export async function settleIdentity(context: RunContext): Promise<readonly ProgressEvent[]> {
  const { settings, database, options } = context;
  const { key, movedFrom, isBlank } = await judgeIdentity(settings, database, options);
  const notes: string[] = [];
  // Of a state that does not remember its key, only another destination gives reason to ask.
  const isRotated = !isBlank && (key === 'other' || (key === 'unknown' && movedFrom !== undefined));
  if (isRotated && options.acceptNewKey === true)
    notes.push('the new key was accepted without a look at its data');
  else if (isRotated) {
    await proveSameData(context);
    notes.push('the key is a new one, and shows the data that the tables have');
  }
  if (movedFrom !== undefined)
    notes.push(
      `the destination was ${movedFrom}: what is there stays as it is, and is not brought up to date any more`,
    );
  await rememberIdentity(settings, database);
  return notes.map((message) => ({ type: 'note', message }));
}
