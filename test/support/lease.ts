import { setImmediate } from 'node:timers/promises';
import { LockedError } from '../../src/model/errors.ts';
import type { TakeStateLock } from '../../src/model/state-lock.ts';

/** Leases of states, as a server gives them: each with a token, and a new one ends what it follows. */
export interface LeaseServer {
  readonly take: TakeStateLock;
  /** Ends the lease of a state, as one that was not renewed in time. */
  lose(stateDir: string): void;
}

export function createLeaseServer(): LeaseServer {
  const holders = new Map<string, { readonly token: number; readonly lost: AbortController }>();
  let lastToken = 0;
  return {
    async take(stateDir) {
      await setImmediate();
      if (holders.has(stateDir))
        throw new LockedError(`another run holds ${stateDir}`, { code: 'state_locked', hint: 'Run again.' });
      const held = { token: (lastToken += 1), lost: new AbortController() };
      holders.set(stateDir, held);
      return {
        lost: held.lost.signal,
        async release() {
          await setImmediate();
          if (holders.get(stateDir)?.token === held.token) holders.delete(stateDir);
        },
      };
    },
    lose(stateDir) {
      holders.get(stateDir)?.lost.abort();
      holders.delete(stateDir);
    },
  };
}
