import { LockedError } from '../../model/errors.ts';

/** Why a run of a fleet ends whose lease was lost. */
export function describeLostLease(account: string): LockedError {
  return new LockedError(`the lease of ${account} was lost: another machine may have the account by now`, {
    code: 'state_locked',
    hint: 'Nothing was published or put away since. The other machine continues from what was put away before.',
  });
}
