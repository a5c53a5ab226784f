import { initialQuotaState, type QuotaState, type QuotaStore } from '../src/model/quota.ts';

/** A quota state in memory, shared by all users of the object but not with other processes. */
export function createMemoryQuotaStore(
  options: { readonly state?: QuotaState; readonly warning?: string } = {},
): QuotaStore {
  let state = options.state ?? initialQuotaState();
  return {
    warning: options.warning,
    update(change) {
      return new Promise((resolve) => {
        const changed = change(state);
        state = changed.state;
        resolve(changed.result);
      });
    },
    close: () => Promise.resolve(),
  };
}
