import type { ConfigAccount } from '../../config/accounts.ts';
import { toSyncError } from '../../model/errors.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import type { KnownAccounts } from '../frame/engine.ts';
import { listOption } from '../options/option-kinds.ts';
import { usageError } from '../options/usage-error.ts';
import { loadOfflineSettings, requestConfig } from './load-settings.ts';

/** Which accounts a command works on. */
export const accountsOption = listOption({
  flag: 'accounts',
  summary: 'Only these accounts of the config, separated by commas; * stands for any text',
  group: 'Accounts:',
  example: 'acme,globex',
  pattern: /^[a-z0-9_*?-]{1,63}$/,
  problem: 'must be account names separated by commas, with * for any text',
});

/** The accounts that a command works on, of those that the config has. */
export interface ChosenAccounts extends KnownAccounts {
  readonly chosen: readonly ConfigAccount[];
}

/**
 * Finds the accounts that the command line means; undefined for a config without accounts. Throws where what they
 * share is wrong, so that it is said once.
 */
export async function chooseAccounts(
  context: CliContext,
  globals: GlobalValues,
  patterns: readonly string[] | undefined,
): Promise<ChosenAccounts | undefined> {
  const chosen = await listChosen(context, globals, patterns);
  if (chosen !== undefined) await refuseSharedMistake(context, globals, chosen);
  return chosen;
}

/** Throws a ConfigError where what the accounts of a config share is wrong, before one of them is begun. */
export async function refuseSharedMistake(
  context: CliContext,
  globals: GlobalValues,
  { accounts }: KnownAccounts,
): Promise<void> {
  const tryAccount = (account: ConfigAccount) =>
    loadOfflineSettings({ ...context, account }, globals, { contracts: 'ignored' }).then(
      () => undefined,
      toSyncError,
    );
  const { findSharedMistake } = await import('../../config/shared-mistake.ts');
  const mistake = await findSharedMistake(accounts, tryAccount);
  if (mistake !== undefined) throw mistake;
}

/** The same, whether or not they can be used. */
export async function listChosen(
  context: CliContext,
  globals: GlobalValues,
  patterns: readonly string[] | undefined,
): Promise<ChosenAccounts | undefined> {
  const known = await context.engine.listAccounts(requestConfig(context, globals));
  if (known === undefined) {
    if (patterns === undefined) return undefined;
    throw usageError(
      'an account was named, but the config has no accounts',
      'Leave --accounts or the account out, or write accounts: into the config; docs/accounts.md shows how.',
    );
  }
  const { matchAccounts } = await import('../../accounts/match-accounts.ts');
  const names = matchAccounts(
    known.accounts.map(({ name }) => name),
    patterns,
  );
  return { ...known, chosen: known.accounts.filter(({ name }) => names.includes(name)) };
}

/** The accounts of the config, for a command that is about them; throws where it has none. */
export async function requireAccounts(context: CliContext, globals: GlobalValues): Promise<KnownAccounts> {
  const known = await context.engine.listAccounts(requestConfig(context, globals));
  if (known !== undefined) return known;
  // A misspelt key is the likeliest reason.
  await loadOfflineSettings(context, globals, { contracts: 'ignored' });
  throw usageError('the config has no accounts', 'Write accounts: into it; docs/accounts.md shows how.');
}
