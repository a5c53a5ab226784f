import type { Database } from './database.ts';

/** Does work whose running statement an abort interrupts: closing the file during one would hang. */
export async function interruptOnAbort<T>(
  database: Database,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const interrupt = () => {
    database.interrupt();
  };
  signal?.addEventListener('abort', interrupt, { once: true });
  try {
    return await work();
  } finally {
    signal?.removeEventListener('abort', interrupt);
  }
}
