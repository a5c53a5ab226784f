import type { Clock } from '../model/clock.ts';
import type { Database } from './database.ts';

/**
 * Runs `work` for at most `ms`, then interrupts its running statement; false on a timeout. Use only for reads, as
 * work may stay unfinished.
 */
export async function withinTime(
  database: Database,
  { ms, clock }: { readonly ms: number; readonly clock: Clock },
  work: () => Promise<void>,
): Promise<boolean> {
  const done = new AbortController();
  let isOver = false;
  const timer = clock.sleep(ms, done.signal).then(
    () => {
      isOver = true;
      database.interrupt();
    },
    () => undefined,
  );
  try {
    await work();
    return true;
  } catch (error) {
    if (!isOver) throw error;
    return false;
  } finally {
    done.abort();
    await timer;
    database.proceed();
  }
}
