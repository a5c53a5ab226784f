import { buildLostLeaseError, buildLostLockError, type Lease, type StateLock } from '../model/state-lock.ts';

/** The locks of a session, as its run sees them. */
export interface HeldLocks {
  /** Aborts with the error that ends the run when one of them is lost; undefined where none of them can be. */
  readonly lost: AbortSignal | undefined;
  /** The lease among them; a `confirm` that fails also aborts `lost`. */
  readonly lease: Lease | undefined;
}

/** Joins the locks of a session; those that are undefined were not taken. */
export function joinLocks(locks: readonly (StateLock | undefined)[], stateDir: string): HeldLocks {
  const held = locks.filter((lock) => lock !== undefined);
  const signals = held.flatMap(({ lost }) => lost ?? []);
  const lease = held.find((lock) => lock.lease !== undefined)?.lease;
  if (signals.length === 0 && lease === undefined) return { lost: undefined, lease };
  const joined = new AbortController();
  const end = () => {
    joined.abort(lease === undefined ? buildLostLockError(stateDir) : buildLostLeaseError(stateDir));
  };
  for (const signal of signals) {
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
  }
  return { lost: joined.signal, lease: lease && watch(lease, joined) };
}

/** A run whose lease cannot be confirmed ends, wherever that was asked. */
function watch(lease: Lease, joined: AbortController): Lease {
  const { token, isTakeover } = lease;
  return {
    token,
    isTakeover,
    async confirm() {
      try {
        await lease.confirm();
      } catch (thrown) {
        joined.abort(thrown);
        throw thrown;
      }
    },
    settle: async () => lease.settle?.(),
  };
}
