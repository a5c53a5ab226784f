import { describeAccounts } from '../../accounts/account-of-config.ts';
import type { AccountOfConfig } from '../../model/account.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import type { KnownAccounts } from '../frame/engine.ts';
import { loadSettings } from './load-settings.ts';

/** Describes the accounts of a config to what works on one of them. */
export function describeChosen(
  context: CliContext,
  globals: GlobalValues,
  { accounts, places }: Pick<KnownAccounts, 'accounts' | 'places'>,
): Promise<(name: string) => AccountOfConfig> {
  return describeAccounts(places, (name) =>
    loadSettings({ ...context, account: accounts.find((one) => one.name === name) }, globals),
  );
}
