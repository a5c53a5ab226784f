import { judgeAccounts } from '../../accounts/judge-accounts.ts';
import type { ConfigAccount } from '../../config/accounts.ts';
import { toSyncError } from '../../model/errors.ts';
import { type ReportedError, toReportedError } from '../../model/run-report.ts';
import { formatCountOf } from '../../text/format-count.ts';
import { withName } from '../../text/name-once.ts';
import { defineCommand } from '../frame/command.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import { requireAccounts } from '../steps/choose-accounts.ts';
import { loadOfflineSettings } from '../steps/load-settings.ts';

/** The accounts of the config, and what is left of others. */
export const accountsListCommand = defineCommand({
  description:
    'Lists the accounts of the config with their places, and what is left of accounts that it no longer has: ' +
    'removing an account from the config deletes nothing.',
  options: {},
  examples: [
    ['sluice accounts list', 'With ./sluice.yaml'],
    ['sluice accounts list --json', 'For a script'],
  ],
  async run(context, { globals }) {
    context.chooseStop('quit');
    const known = await requireAccounts(context, globals);
    const leftovers = await context.engine.findLeftovers(known);
    const ends = await Promise.all(known.accounts.map((account) => findMistake(context, globals, account)));
    const accounts = known.accounts.map(({ name }, at) => ({
      account: name,
      inConfig: true,
      places: known.places
        .filter(({ account }) => account === name)
        .map(({ kind, path }) => ({ kind: String(kind), path })),
      ...(ends[at] !== undefined && { error: ends[at] }),
    }));
    const all = [...accounts, ...leftovers.map((left) => ({ ...left, inConfig: false }))];
    const { renderAccountList } = await import('../../render/render-account-list.ts');
    const count = formatCountOf(accounts.length, 'account');
    const failed = accounts.filter(({ error }) => error !== undefined);
    const [first] = failed;
    const broken = first === undefined ? '' : `, ${failed.length} with a mistake in the config`;
    const left = leftovers.length === 0 ? '' : `, and what is left of ${leftovers.length} more`;
    return {
      exitCode: judgeAccounts(ends.map((error) => error?.exitCode ?? 0)),
      summary: `${count}${broken}${left}`,
      result: { accounts: all },
      text: renderAccountList(all, context.output.stdout.columns()),
      ...(first?.error && {
        error: { ...first.error, message: withName(first.error.message, first.account) },
      }),
    };
  },
});

/** What is wrong in the config of one account: it must not hide the others. */
async function findMistake(
  context: CliContext,
  globals: GlobalValues,
  account: ConfigAccount,
): Promise<ReportedError | undefined> {
  try {
    await loadOfflineSettings({ ...context, account }, globals);
    return undefined;
  } catch (thrown) {
    return toReportedError(toSyncError(thrown));
  }
}
