import { LockedError } from '../../src/model/errors.ts';
import { buildLostLeaseError, type Lease, type StateLock } from '../../src/model/state-lock.ts';

/** The lease of one account, as a server gives it to one machine after the other. */
export interface FleetLeases {
  /** Takes the lease; the machine is told that it lost it only when it asks, like one that was paused. */
  take(): Promise<HeldLease>;
  /** Ends the lease that is held now, as one that was not renewed in time. */
  end(): void;
}

export interface HeldLease extends StateLock {
  readonly lease: Lease;
}

/** @param onConfirm called when a holder asks whether it still has the lease, before and after the answer is found */
export function createFleetLeases(onConfirm: () => Promise<void> = () => Promise.resolve()): FleetLeases {
  let token = 0;
  let isHeld = false;
  let isToTakeOver = false;
  return {
    take() {
      if (isHeld)
        return Promise.reject(new LockedError('held', { code: 'state_locked', hint: 'Run again.' }));
      isHeld = true;
      token += 1;
      const mine = token;
      const isMine = () => isHeld && token === mine;
      const lease: Lease = {
        token: mine,
        isTakeover: isToTakeOver,
        async confirm() {
          await onConfirm();
          const isConfirmed = isMine();
          await onConfirm();
          if (!isConfirmed) throw buildLostLeaseError('the account');
        },
        settle() {
          isToTakeOver = false;
          return Promise.resolve();
        },
      };
      return Promise.resolve({
        lease,
        release() {
          if (isMine()) isHeld = false;
          return Promise.resolve();
        },
      });
    },
    end() {
      isHeld = false;
      isToTakeOver = true;
    },
  };
}
