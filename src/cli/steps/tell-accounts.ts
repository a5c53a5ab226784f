import type { ConfigAccount } from '../../config/accounts.ts';
import { toSyncError } from '../../model/errors.ts';
import type { EndedSync } from '../../notify/notify-accounts.ts';
import type { CliContext } from '../frame/context.ts';
import type { EndedAccount } from '../frame/engine.ts';

/** What is told of a sync of several accounts. */
export interface ToldAccounts {
  readonly told: readonly EndedAccount[];
  readonly end: EndedSync;
  /** Also those that did not run: a program of a notice gets the secret of none of them. */
  readonly accounts: readonly ConfigAccount[];
}

/** Sends the notices of all accounts together; returns those that failed, as warnings. */
export async function tellAccounts(
  { engine, clock, env, signal }: CliContext,
  { told, end, accounts }: ToldAccounts,
): Promise<readonly string[]> {
  // A person who stopped the run is watching it.
  if (signal.aborted) return [];
  try {
    const { withoutSecretVariables } = await import('../../config/secret-variables.ts');
    const shown = withoutSecretVariables(env, accounts);
    return await engine.notifyAccounts(told, end, { clock, env: shown, signal });
  } catch (thrown) {
    // Not even a defect in a notice may change the outcome of the run.
    return [`no notice of the run could be sent: ${toSyncError(thrown).message}`];
  }
}
