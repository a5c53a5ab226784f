import { assertNotAborted, toAbortError } from '../../model/abort.ts';
import type { Clock } from '../../model/clock.ts';
import type { Lakehouse } from './lakehouse.ts';

/** Others commit about as often as we do: so many in a row is more than that. */
const MOST_TRIES = 12;
const PAUSE_MS = 100;

/** The last of this process that waits for each place, or works there. */
const lastAt = new Map<string, Promise<unknown>>();

/**
 * Waits until nobody else in this process works at a place. Who gives up waiting keeps nobody behind him from it.
 *
 * @returns ends the turn; may be called more than once
 */
export async function takeTurn(place: string, signal?: AbortSignal): Promise<() => void> {
  const before = lastAt.get(place);
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const mine = Promise.all([before, ended]);
  lastAt.set(place, mine);
  void mine.then(() => {
    if (lastAt.get(place) === mine) lastAt.delete(place);
  });
  try {
    if (before !== undefined) await waitFor(before, signal);
    return end;
  } catch (thrown) {
    end();
    throw thrown;
  }
}

async function waitFor(before: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  assertNotAborted(signal);
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const stop = () => {
    if (signal !== undefined) reject(toAbortError(signal));
  };
  signal?.addEventListener('abort', stop, { once: true });
  try {
    await Promise.race([before, aborted]);
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

/**
 * Works at a lakehouse once nobody else in this process does: each would undo the work of the others, and those that wait
 * in the engine would take the threads that the one at work needs.
 */
export async function inTurn<T>(
  { turn }: Pick<Lakehouse, 'turn'>,
  work: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  if (turn === undefined) return work();
  const end = await takeTurn(turn, signal);
  try {
    return await work();
  } finally {
    end();
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
  signal?: AbortSignal,
): Promise<T> {
  return repeatOnConflict(lakehouse, clock, () => inTurn(lakehouse, work, signal));
}
