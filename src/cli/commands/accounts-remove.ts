import { ACCOUNT_NAME, accountNameMessage } from '../../model/account.ts';
import { ConfigError } from '../../model/errors.ts';
import type { CommandOutcome } from '../frame/command.ts';
import { defineCommand } from '../frame/command.ts';
import type { CliContext } from '../frame/context.ts';
import type { Leftover } from '../frame/engine.ts';
import { flagOption } from '../options/option-kinds.ts';
import { usageError } from '../options/usage-error.ts';
import { toSafeLine } from '../../render/safe-text.ts';
import { wrapText } from '../../render/wrap-text.ts';
import { requireAccounts } from '../steps/choose-accounts.ts';
import { requestConfig } from '../steps/load-settings.ts';

const group = 'Removing:';

/** Deletes what is left of an account. */
export const accountsRemoveCommand = defineCommand({
  description:
    'Deletes what is left of an account that the config no longer has: what it published, and its state folder. ' +
    'Asks first. Remove the line of the account from the config before.',
  argument: { name: 'NAME', summary: 'the name of the account', required: true },
  options: {
    data: flagOption({ flag: 'data', summary: 'Delete its data; without it, only show what is left', group }),
    yes: flagOption({ flag: 'yes', summary: 'Do not ask', group }),
  },
  examples: [
    ['sluice accounts remove old-client', 'What is left of it?'],
    ['sluice accounts remove old-client --data --yes', 'Deletes it; without --yes it asks first'],
  ],
  async run(context, { values, globals, argument = '' }) {
    context.chooseStop('close');
    if (!ACCOUNT_NAME.test(argument))
      throw usageError(accountNameMessage(argument), 'sluice accounts list shows the names.');
    const known = await requireAccounts(context, globals);
    if (known.accounts.some(({ name }) => name === argument))
      throw usageError(
        `the account ${argument} is in the config`,
        'Nothing was deleted. Remove its line from the config first, so that no sync brings it back.',
      );
    const left = (await context.engine.findLeftovers(known)).find(({ account }) => account === argument);
    if (left === undefined) throw nothingLeft(argument);
    if (values.data !== true) return toOutcome(context, left, 'kept');
    const choice = { yes: values.yes === true, isJson: globals.json === true };
    const confirm = (found: Leftover) => ask(context, found, choice);
    const isRemoved = await context.engine.removeAccount(requestConfig(context, globals), left, {
      clock: context.clock,
      confirm,
    });
    return toOutcome(context, left, isRemoved ? 'deleted' : 'declined');
  },
});

function nothingLeft(account: string): ConfigError {
  return new ConfigError(`nothing is left of the account ${account}`, {
    code: 'usage_invalid',
    hint: 'sluice accounts list shows what is there. Places that the config no longer names are not looked at.',
  });
}

async function ask(
  { prompt, output }: CliContext,
  { account, places }: Leftover,
  { yes, isJson }: { readonly yes: boolean; readonly isJson: boolean },
): Promise<boolean> {
  if (yes) return true;
  if (prompt === undefined || isJson)
    throw usageError(
      `this deletes all data of ${account}, and there is nobody to ask`,
      'Run it on a terminal, or give --yes. Nothing was deleted.',
    );
  output.writeNote(places.map(({ path }) => toSafeLine(path)).join('\n'));
  return /^y(es)?$/i.test(await prompt(`Delete all data of ${account}? This cannot be undone`, 'no'));
}

function toOutcome(
  { output }: CliContext,
  { account, places }: Leftover,
  what: 'kept' | 'deleted' | 'declined',
): CommandOutcome {
  const list = places.map(({ path }) => `  ${toSafeLine(path)}`).join('\n');
  const texts = {
    kept: `Left of ${account}:\n${list}\nNothing was deleted; --data deletes it.`,
    deleted: `Deleted of ${account}:\n${list}`,
    declined: 'Nothing was deleted.',
  };
  return {
    exitCode: 0,
    summary: what === 'deleted' ? `deleted ${account}` : 'nothing was deleted',
    result: { account, deleted: what === 'deleted', places },
    text: wrapText(texts[what], output.stdout.columns()),
  };
}
