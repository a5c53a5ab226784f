import { accessSync, constants, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** Room that tests running side by side may need at once, with a margin. */
const ENOUGH_BYTES = 4 * 2 ** 30;

/**
 * Folder for the tests' temporary files: one in memory where the machine has a large one, since most tests would
 * wait for a disk half of their time. A `TMPDIR` that is set is kept.
 */
export function chooseTempRoot(memory = '/dev/shm'): string {
  if (process.env['TMPDIR'] !== undefined) return tmpdir();
  try {
    accessSync(memory, constants.W_OK);
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize >= ENOUGH_BYTES ? memory : tmpdir();
  } catch {
    return tmpdir();
  }
}
