import { readAccountNames } from '../options/account-names.ts';
import { usageError } from '../options/usage-error.ts';

/** An account that the simulator is to serve. */
export interface AccountToServe {
  readonly name: string;
  readonly key: string;
  readonly revoked: boolean;
}

/** Options that decide on accounts. */
export interface AccountOptions {
  readonly accounts: string | undefined;
  readonly revoked: string | undefined;
  readonly key: string | undefined;
  readonly scenario: string | undefined;
}

/** The accounts to serve; undefined where all share one key. Throws where options contradict each other. */
export function chooseSimulatedAccounts(
  { accounts, revoked, key, scenario }: AccountOptions,
  makeKey: (name: string) => string,
): readonly AccountToServe[] | undefined {
  if (accounts === undefined) {
    if (revoked === undefined) return undefined;
    throw usageError('--revoked needs --accounts', 'For example: --accounts acme,globex --revoked globex');
  }
  if (key !== undefined) {
    throw usageError(
      '--key and --accounts cannot be combined',
      'Leave out --key: each account gets a key of its own.',
    );
  }
  if (scenario !== undefined) {
    throw usageError(
      '--scenario and --accounts cannot be combined',
      'Leave out --accounts: a scenario counts the requests of one key.',
    );
  }
  const names = readAccountNames(accounts, '--accounts');
  const refused = revoked === undefined ? [] : readAccountNames(revoked, '--revoked');
  const unknown = refused.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw usageError(
      `--revoked names "${unknown}", which is not among the accounts`,
      `Name it in both: --accounts ${[...names, unknown].join(',')} --revoked ${refused.join(',')}`,
    );
  }
  return names.map((name) => ({ name, key: makeKey(name), revoked: refused.includes(name) }));
}
