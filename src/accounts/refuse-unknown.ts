import type { AccountData } from '../model/account.ts';
import { ConfigError } from '../model/errors.ts';
import { listNames } from '../text/list-names.ts';

/**
 * Rejects accounts whose places the config does not say: their published rows would be missing.
 *
 * @param what start of the message: what is not done
 * @throws ConfigError (2) naming them
 */
export function refuseUnknown(names: readonly string[], data: readonly AccountData[], what: string): void {
  const unknown = names.filter((name) => !data.some(({ account }) => account === name));
  if (unknown.length === 0) return;
  throw new ConfigError(`${what}: it is not known where the data of ${listNames(unknown)} is`, {
    code: 'config_invalid',
    hint: 'Its rows would be missing. Correct destination and stateDir of that account (is a variable not set?), and run again. Nothing was changed.',
  });
}
