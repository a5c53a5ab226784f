import { expect, it } from 'vitest';
import { LockedError, NetworkError, SyncError } from '../../src/model/errors.ts';

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
