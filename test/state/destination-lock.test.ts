import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { destinationLockFile, lockDestinations } from '../../state/destination-lock.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

describe('the lock next to a destination', () => {
  it('is held by one run at a time, and leaves nothing behind', async () => {
    const target = join(makeTempFolder(), 'new', 'w.duckdb');
    const lock = await lockDestinations([target]);
    await expect(lockDestinations([target])).rejects.toMatchObject({ code: 'state_locked', exitCode: 75 });
    await lock.release();
    expect(existsSync(join(target, '..'))).toBe(false);
    await (await lockDestinations([target])).release();
  });

  it('is unlocked where its file cannot be removed: the run that held it has ended well', async () => {
    const target = join(makeTempFolder(), 'w.duckdb');
    const file = destinationLockFile(target);
    const lock = await lockDestinations([target]);
    renameSync(file, `${file}.moved`);
    mkdirSync(file);
    await expect(lock.release()).resolves.toBeUndefined();
  });
});
