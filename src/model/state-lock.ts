import { LostLockError } from './errors.ts';

/** The right to change a state and what is published from it, of one run at a time. */
export interface StateLock {
  /**
   * Aborts once another run may hold the lock: from then on this one neither commits nor publishes. Left out by locks
   * that only their holder can end, like those of the operating system.
   */
  readonly lost?: AbortSignal;
  /** Set for a lease, which another machine may hold next; left out by locks that only their holder can end. */
  readonly lease?: Lease;
  /** Lets the next run in; may be called more than once, also for a lock that was lost. Never rejects. */
  release(): Promise<void>;
}

/** A lock that ends by itself. What comes late, from a holder that was paused, is refused by its token. */
export interface Lease {
  /** Grows with each holder: a destination refuses a commit whose token is below the highest one that it knows. */
  readonly token: number;
  /** Its last holder never said that it ended, and may still be at work. */
  readonly isTakeover: boolean;
  /**
   * Asks whether this holder still has the lease; called right before something is published.
   *
   * @throws LockedError (75) if it was lost, or nobody can say
   */
  confirm(): Promise<void>;
  /**
   * Called at a takeover, once every destination refuses what comes from earlier holders. Until then the lock stays one to
   * take over, also after a release: the next holder has to see to it.
   */
  settle?(): Promise<void>;
}

/**
 * Takes the lock of a state, for a command that began at `since` (ISO).
 *
 * @throws LockedError (75) while another run holds it; StorageError (6)
 */
export type TakeStateLock = (stateDir: string, since: string, command?: string) => Promise<StateLock>;

/** Why a run ends whose lock was lost. */
export function buildLostLockError(stateDir: string): LostLockError {
  return new LostLockError(`the lock of ${stateDir} was lost: another run may hold it by now`, {
    code: 'state_locked',
    hint: 'What was committed before is safe, and nothing was committed or published since. Run again.',
    context: { path: stateDir },
  });
}

/**
 * Why a run ends whose lease was lost.
 *
 * @param place what the lease is of, or what refused the token of this run
 * @param cause why it is known
 */
export function buildLostLeaseError(place: string, cause?: unknown): LostLockError {
  return new LostLockError(`the lease of ${place} was lost: another machine has the account by now`, {
    code: 'state_locked',
    hint: 'What was published before is whole, and nothing of this run was published since. The other machine goes on from there; this run has nothing left to do.',
    context: { path: place },
    ...(cause !== undefined && { cause }),
  });
}
