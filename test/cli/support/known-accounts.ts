import type { KnownAccounts } from '../../../src/cli/frame/engine.ts';
import type { ConfigAccount } from '../../../src/config/accounts.ts';

/** The accounts of a config, as an engine lists them: names alone, and nothing that joins them. */
export function makeKnownAccounts(names: readonly string[], shared: object = {}): KnownAccounts {
  return {
    accounts: names.map((name) => ({ name, shared: { value: shared } }) as ConfigAccount),
    concurrency: 4,
    places: [],
    patterns: [],
    data: [],
    combined: undefined,
    catalog: undefined,
    config: undefined,
  };
}
