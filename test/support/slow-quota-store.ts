import { initialQuotaState, type QuotaStore } from '../../src/model/quota.ts';
import { createMemoryQuotaStore } from '../../state/memory-quota-store.ts';

/** A quota state on a server that is far away. */
export interface SlowQuotaServer {
  /** A store of the server's state, as one process opens it. */
  open(): QuotaStore;
  /** Every change from now on fails when it is written. */
  fail(): void;
  /** How often a state was written. */
  readonly writes: number;
}

/**
 * Updates wait for each other as for a lock on a row, take their time before the change and after it, and fall
 * back to memory when the server fails.
 */
export function createSlowQuotaServer(takeTime: () => Promise<void>): SlowQuotaServer {
  let state = initialQuotaState();
  let row: Promise<unknown> = Promise.resolve();
  let isBroken = false;
  let writes = 0;
  return {
    open() {
      let known = state;
      let warning: string | undefined;
      let fallback: QuotaStore | undefined;
      const goOnInMemory = () => (fallback ??= createMemoryQuotaStore({ state: known }));
      return {
        get warning() {
          return warning;
        },
        update(change) {
          if (fallback !== undefined) return fallback.update(change);
          const done = row.then(async () => {
            await takeTime();
            if (fallback !== undefined) return fallback.update(change);
            const before = state;
            const changed = change(before);
            await takeTime();
            known = changed.state;
            if (isBroken) {
              warning = 'the server failed: other processes with this key are not seen';
              goOnInMemory();
            } else if (changed.state !== before) {
              state = changed.state;
              writes += 1;
            }
            return changed.result;
          });
          row = done.catch(() => undefined);
          return done;
        },
        async close() {
          await row;
          goOnInMemory();
        },
      };
    },
    fail() {
      isBroken = true;
    },
    get writes() {
      return writes;
    },
  };
}
