import type { ConfigError } from '../model/errors.ts';
import type { ConfigAccount } from './accounts.ts';
import { valueAt } from './config-path.ts';
import { buildConfigError, listProblems, type Problem } from './problem.ts';

/**
 * What is wrong with the part of a config that its accounts share: the problems that all of them have, and that none
 * of them wrote for itself. `tryAccount` returns what keeps an account from being used; undefined for one that can be.
 */
export async function findSharedMistake(
  accounts: readonly ConfigAccount[],
  tryAccount: (account: ConfigAccount) => Promise<Error | undefined>,
): Promise<ConfigError | undefined> {
  let shared: readonly Problem[] | undefined;
  for (const account of accounts) {
    const error = await tryAccount(account);
    const own = error === undefined ? [] : listProblems(error).filter((one) => !isOwn(account, one));
    shared = shared === undefined ? own : shared.filter((one) => own.some((other) => isSame(one, other)));
    // Mostly the first account has none, and no other has to be tried.
    if (shared.length === 0) return undefined;
  }
  const [first] = accounts;
  return shared === undefined || first === undefined ? undefined : buildConfigError(shared, first.shared);
}

function isOwn({ own }: ConfigAccount, { path }: Problem): boolean {
  return valueAt(own, path) !== undefined;
}

function isSame(a: Problem, b: Problem): boolean {
  return a.message === b.message && a.path.join('.') === b.path.join('.');
}
