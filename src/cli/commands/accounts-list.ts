import { formatCountOf } from '../../text/format-count.ts';
import { defineCommand } from '../frame/command.ts';
import { requireAccounts } from '../steps/choose-accounts.ts';

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
    const accounts = known.accounts.map(({ name }) => ({
      account: name,
      inConfig: true,
      places: known.places
        .filter(({ account }) => account === name)
        .map(({ kind, path }) => ({ kind: String(kind), path })),
    }));
    const all = [...accounts, ...leftovers.map((left) => ({ ...left, inConfig: false }))];
    const { renderAccountList } = await import('../../render/render-account-list.ts');
    const count = formatCountOf(accounts.length, 'account');
    const left = leftovers.length === 0 ? '' : `, and what is left of ${leftovers.length} more`;
    return {
      exitCode: 0,
      summary: `${count}${left}`,
      result: { accounts: all },
      text: renderAccountList(all, context.output.stdout.columns()),
    };
  },
});
