import type { Clock } from '../../model/clock.ts';
import type { Lakehouse } from './lakehouse.ts';

/** Others commit about as often as we do: so many in a row is more than that. */
const MOST_TRIES = 12;
const PAUSE_MS = 100;

/** The last of this process that waits for each place, or works there. */
const lastAt = new Map<string, Promise<unknown>>();

/**
 * Works at a lakehouse once nobody else in this process does: each would undo the work of the others, and those that wait
 * in the engine would take the threads that the one at work needs.
 */
export async function inTurn<T>({ turn }: Pick<Lakehouse, 'turn'>, work: () => Promise<T>): Promise<T> {
  if (turn === undefined) return work();
  const mine = (lastAt.get(turn) ?? Promise.resolve()).then(work);
  const settled = mine.catch(() => undefined);
  lastAt.set(turn, settled);
  try {
    return await mine;
  } finally {
    if (lastAt.get(turn) === settled) lastAt.delete(turn);
  }
}

/** Does work again, from its beginning, where it failed because others committed meanwhile: nothing of it is there then. */
export async function repeatOnConflict<T>(
  { isConflict }: Pick<Lakehouse, 'isConflict'>,
  clock: Pick<Clock, 'sleep'>,
  work: () => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (thrown) {
      if (tries === MOST_TRIES || isConflict?.(thrown) !== true) throw thrown;
      await clock.sleep(PAUSE_MS * tries);
    }
  }
}

/** Both together. */
export function repeatInTurn<T>(
  lakehouse: Pick<Lakehouse, 'isConflict' | 'turn'>,
  clock: Pick<Clock, 'sleep'>,
  work: () => Promise<T>,
): Promise<T> {
  return repeatOnConflict(lakehouse, clock, () => inTurn(lakehouse, work));
}
