import type { AccountOfConfig } from '../model/account.ts';

/** A place of one account, or of all together. */
interface Place {
  readonly account: string | undefined;
  readonly kind: string;
  readonly path: string;
}

/** An account with the state folders of all others of its config; those whose folder the config does not say are missing. */
export function toAccountOfConfig(name: string, places: readonly Place[]): AccountOfConfig {
  const others = places.flatMap(({ account, kind, path }) =>
    kind === 'stateDir' && account !== undefined && account !== name
      ? [{ name: account, stateDir: path }]
      : [],
  );
  return { name, others };
}
