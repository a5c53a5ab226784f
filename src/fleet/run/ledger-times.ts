import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { moveTimes } from '../../http/quota-tidy.ts';
import { openQuotaLedger } from '../../../state/quota-ledger.ts';

/**
 * Moves all times in the ledgers of a state folder. On their way they are the database's, because the clocks of machines may
 * differ: a window that is over by one clock may be open by another.
 */
export async function moveLedgers(stateDir: string, byMs: number): Promise<void> {
  if (byMs === 0) return;
  const dir = join(stateDir, 'quota');
  for (const name of await listNames(dir)) {
    const keyHash = /^quota-([0-9a-f]+)\.db$/.exec(name)?.[1];
    if (keyHash === undefined) continue;
    const ledger = openQuotaLedger({ dir, keyHash });
    try {
      await ledger.update((state) => ({ state: moveTimes(state, byMs), result: undefined }));
    } finally {
      await ledger.close();
    }
  }
}

async function listNames(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw thrown;
  }
}
