import { ACCOUNT_NAME, accountNameMessage } from '../../model/account.ts';
import { ConfigError } from '../../model/errors.ts';
import type { CommandOutcome } from '../frame/command.ts';
import { defineCommand } from '../frame/command.ts';
import type { CliContext } from '../frame/context.ts';
import type { FoundLeftover, RemovalPlan } from '../frame/engine.ts';
import { flagOption } from '../options/option-kinds.ts';
import { usageError } from '../options/usage-error.ts';
import { toSafeBlock } from '../../render/safe-text.ts';
import { renderKept, renderRemoval } from '../../render/render-removal.ts';
import { wrapText } from '../../render/wrap-text.ts';
import { toSafeLine } from '../../render/safe-text.ts';
import { requireAccounts } from '../steps/choose-accounts.ts';
import { requestConfig } from '../steps/load-settings.ts';

const group = 'Removing:';

/** Deletes what is left of an account. */
export const accountsRemoveCommand = defineCommand({
  description:
    'Deletes what is left of an account that the config no longer has: what it published, and its state folder. ' +
    'Asks first. Remove the line of the account from the config first. Files that Sluice did not write stay, and are listed.',
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
    const left = await context.engine.findLeftover(known, argument);
    if (left === undefined) throw nothingLeft(argument);
    const request = requestConfig(context, globals);
    if (left.places.length === 0) {
      if (values.data === true) throw nothingProved(left);
      return toOutcome(context, { ...left, places: [] }, 'kept');
    }
    if (values.data !== true)
      return toOutcome(context, await context.engine.planRemoval(request, left), 'kept');
    const choice = { yes: values.yes === true, isJson: globals.json === true };
    const { plan, isDone, error } = await context.engine.removeAccount(request, left, {
      clock: context.clock,
      confirm: (found) => ask(context, found, choice),
      onNote: (note) => context.output.writeNote(toSafeLine(note)),
    });
    if (!isDone) return toOutcome(context, plan, 'declined');
    const outcome = toOutcome(context, plan, 'deleted');
    if (error === undefined) return outcome;
    const joint = toSafeBlock(`The files of all accounts together: ${error.message}\n${error.hint}`);
    const text = `${outcome.text}\n${wrapText(joint, context.output.stdout.columns())}`;
    return { ...outcome, exitCode: 5, text, error };
  },
});

function nothingLeft(account: string): ConfigError {
  return new ConfigError(`nothing is left of the account ${account}`, {
    code: 'usage_invalid',
    hint: 'sluice accounts list shows what is there. Places that the config no longer names are not looked at.',
  });
}

/** What another config or a person may have put there is for them to delete. */
function nothingProved({ account, kept }: FoundLeftover): ConfigError {
  return new ConfigError(`nothing found is known to belong to the account ${account}:\n${renderKept(kept)}`, {
    code: 'usage_invalid',
    hint: 'Nothing was deleted. Check which account it belongs to; if it is this one, delete it by hand.',
  });
}

async function ask(
  { prompt, output }: CliContext,
  plan: RemovalPlan,
  { yes, isJson }: { readonly yes: boolean; readonly isJson: boolean },
): Promise<boolean> {
  if (yes) return true;
  const { account } = plan;
  if (prompt === undefined || isJson)
    throw usageError(
      `this deletes all data of ${account}, and there is nobody to ask`,
      'Run it on a terminal, or give --yes. Nothing was deleted.',
    );
  output.writeNote(renderRemoval(plan));
  return /^y(es)?$/i.test(await prompt(`Delete all data of ${account}? This cannot be undone`, 'no'));
}

function toOutcome(
  { output }: CliContext,
  { account, places, kept }: RemovalPlan,
  what: 'kept' | 'deleted' | 'declined',
): CommandOutcome {
  const list = renderRemoval({ places, kept });
  const texts = {
    kept:
      places.length === 0
        ? `Nothing is known to be left of ${account}.\n${list}`
        : `Left over from ${account}:\n${list}\nNothing was deleted; --data deletes it.`,
    deleted: `Deleted from ${account}:\n${list}`,
    declined: 'Nothing was deleted.',
  };
  return {
    exitCode: 0,
    summary: what === 'deleted' ? `deleted ${account}` : 'nothing was deleted',
    result: {
      account,
      deleted: what === 'deleted',
      places: places.map(({ kind, path, own }) => ({
        kind,
        path,
        files: own.files.length,
        bytes: own.bytes,
      })),
      kept,
    },
    text: wrapText(texts[what], output.stdout.columns()),
  };
}
