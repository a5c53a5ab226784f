import { judgeAccounts } from '../../accounts/judge-accounts.ts';
import { mapAtOnce } from '../../accounts/map-at-once.ts';
import { toAbortError } from '../../model/abort.ts';
import { toSyncError } from '../../model/errors.ts';
import { toReportedError } from '../../model/run-report.ts';
import { judgeAccount, sortAccounts, toAccountFacts, unreadableHealth } from '../../report/judge-account.ts';
import { withName } from '../../text/name-once.ts';
import type { CommandOutcome } from '../frame/command.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import {
  type AccountStatus,
  type AccountsStatusOptions,
  renderAccountsStatus,
  summarizeAccountsStatus,
} from '../../render/render-accounts-status.ts';
import type { ChosenAccounts } from './choose-accounts.ts';
import { loadOfflineSettings } from './load-settings.ts';

/** Files that are open at once; each is one of DuckDB with its threads. */
const OPEN_AT_ONCE = 4;

/** The status of each account, the worst first. What cannot be read of one does not hide the others. */
export async function readAccountsStatus(
  context: CliContext,
  globals: GlobalValues,
  { chosen }: Pick<ChosenAccounts, 'chosen'>,
): Promise<readonly AccountStatus[]> {
  const { engine, clock, signal } = context;
  const read = async (account: ChosenAccounts['chosen'][number]): Promise<AccountStatus> => {
    if (signal.aborted) throw toAbortError(signal);
    const { name } = account;
    try {
      const settings = await loadOfflineSettings({ ...context, account }, globals);
      const status = await engine.readStatus(settings);
      const facts = toAccountFacts(status, await engine.readRecentRuns(settings));
      return { account: name, status, health: judgeAccount(facts, clock.now()) };
    } catch (thrown) {
      const error = toReportedError(toSyncError(thrown));
      return { account: name, health: unreadableHealth, error, exitCode: error.exitCode };
    }
  };
  return sortAccounts(await mapAtOnce(chosen, OPEN_AT_ONCE, read));
}

/** What there is to show. */
export interface ShownAccounts extends Pick<
  AccountsStatusOptions,
  'isNamed' | 'leftovers' | 'isFleet' | 'faults'
> {
  readonly accounts: readonly AccountStatus[];
}

/** The overview as text, with the pages of those that were named. */
export function drawAccountsStatus(
  { clock, output }: CliContext,
  { accounts, ...shown }: ShownAccounts,
): string {
  return renderAccountsStatus(accounts, { nowMs: clock.now(), columns: output.stdout.columns(), ...shown });
}

/** The outcome of the command: it fails only if nothing at all could be read. */
export function toStatusOutcome(context: CliContext, shown: ShownAccounts): CommandOutcome {
  const { accounts, leftovers, faults } = shown;
  const failed = accounts.flatMap((one) => (one.error === undefined ? [] : [one]));
  const [first] = failed;
  const isLost = failed.length === accounts.length;
  return {
    exitCode: isLost ? judgeAccounts(failed.map(({ exitCode }) => exitCode)) : 0,
    summary: summarizeAccountsStatus(accounts),
    result: {
      accounts: accounts.map(({ account, health, status = null, error = null }) => ({
        account,
        ok: error === null,
        health: health.word,
        status,
        error,
      })),
      leftovers,
      ...(faults.length > 0 && { faults }),
    },
    text: drawAccountsStatus(context, shown),
    ...(isLost &&
      first !== undefined && {
        error: { ...first.error, message: withName(first.error.message, first.account) },
      }),
  };
}
