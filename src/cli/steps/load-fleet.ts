import type { FleetSettings } from '../../model/fleet.ts';
import { ACCOUNT_NAME, accountNameMessage } from '../../model/account.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import type { KnownAccounts } from '../frame/engine.ts';
import { usageError } from '../options/usage-error.ts';
import { requireAccounts } from './choose-accounts.ts';
import { requestConfig } from './load-settings.ts';

/** A fleet, and the accounts of its config. */
export interface LoadedFleet {
  readonly settings: FleetSettings;
  readonly known: KnownAccounts;
  readonly names: readonly string[];
}

/** Reads what the config says of its fleet, and masks its secrets in all output from then on. */
export async function loadFleet(context: CliContext, globals: GlobalValues): Promise<LoadedFleet> {
  const known = await requireAccounts(context, globals);
  const settings = await context.engine.fleet.loadSettings(requestConfig(context, globals));
  for (const secret of settings.secrets) context.keepSecret(secret);
  return { settings, known, names: known.accounts.map(({ name }) => name) };
}

/** The accounts of the config that a command's argument names; `*` stands for any text. */
export async function matchNames(names: readonly string[], argument = ''): Promise<readonly string[]> {
  const { matchAccounts } = await import('../../accounts/match-accounts.ts');
  return matchAccounts(names, argument.split(','));
}

/** A name of an account, of the config or of one that it had. */
export function readName(argument = ''): string {
  if (ACCOUNT_NAME.test(argument)) return argument;
  throw usageError(accountNameMessage(argument), 'sluice fleet status shows the names.');
}
