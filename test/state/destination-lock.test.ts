import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { destinationLockFile, lockDestinations } from '../../state/destination-lock.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

describe('the lock next to a destination', () => {
  it('is held by one run at a time, and leaves nothing behind', async () => {
    const target = join(makeTempFolder(), 'new', 'w.duckdb');
    const lock = await lockDestinations([{ target }]);
    await expect(lockDestinations([{ target }])).rejects.toMatchObject({
      code: 'state_locked',
      exitCode: 75,
    });
    await lock.release();
    expect(existsSync(join(target, '..'))).toBe(false);
    await (await lockDestinations([{ target }])).release();
  });

  it('is held together by runs with parts of their own, and let go with the last of them', async () => {
    const target = join(makeTempFolder(), 'new', 'catalog.sqlite');
    const lock = (part?: string) => lockDestinations([{ target, ...(part !== undefined && { part }) }]);
    const one = await lock('one');
    const other = await lock('other');
    for (const part of ['one', 'other', undefined])
      await expect(lock(part)).rejects.toMatchObject({ code: 'state_locked', exitCode: 75 });
    await one.release();
    await one.release();
    await expect(lock()).rejects.toMatchObject({ exitCode: 75 });
    const again = await lock('one');
    await other.release();
    await again.release();
    expect(existsSync(join(target, '..'))).toBe(false);
    const whole = await lock();
    await expect(lock('one')).rejects.toMatchObject({ exitCode: 75 });
    await whole.release();
  });

  it('is unlocked where its file cannot be removed: the run that held it has ended well', async () => {
    const target = join(makeTempFolder(), 'w.duckdb');
    const file = destinationLockFile(target);
    const lock = await lockDestinations([{ target }]);
    renameSync(file, `${file}.moved`);
    mkdirSync(file);
    await expect(lock.release()).resolves.toBeUndefined();
  });
});
