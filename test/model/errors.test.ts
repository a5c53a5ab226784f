import { describe, expect, it } from 'vitest';
import { LockedError, NetworkError, SyncError, toSyncError } from '../../src/model/errors.ts';

it('gives an error other advice, and leaves the first one as it was', () => {
  const error = new LockedError('held', { code: 'state_locked', hint: 'Wait.', wasHeld: 'a run held it' });
  const other = error.withHint('Close it.');
  expect(other).toBeInstanceOf(LockedError);
  expect(other).toBeInstanceOf(SyncError);
  expect(other).not.toBeInstanceOf(NetworkError);
  expect([error.hint, other.hint]).toEqual(['Wait.', 'Close it.']);
  const { message, name, code, exitCode, wasHeld, stack, recovery } = error;
  expect(other).toMatchObject({ message, name, code, exitCode, wasHeld, stack, recovery });
});

describe('an error of the file system', () => {
  it.each([
    [
      'EISDIR',
      { path: '/state/runs.json.tmp', dest: '/state/runs.json' },
      'move /state/runs.json away, then',
    ],
    ['EEXIST', { path: '/state/stage' }, 'move /state/stage away, then run again'],
    [
      'ENOTDIR',
      { path: '/state/stage/items' },
      '/state/stage/items, or a part of its path, is a file where a folder belongs: move that file away, then',
    ],
    ['ENOSPC', { path: '/state/runs.json.tmp' }, 'Free some space or fix the permissions, then run again'],
    ['EISDIR', {}, 'Free some space or fix the permissions, then run again'],
  ])('%s of %j says what to do', (code, places, hint) => {
    const thrown = Object.assign(new Error(`${code}: rename`), {
      code,
      errno: -1,
      syscall: 'rename',
      ...places,
    });
    expect(toSyncError(thrown)).toMatchObject({
      code: 'storage_failed',
      exitCode: 6,
      hint: expect.stringContaining(hint) as string,
    });
  });
});
