import { judgeAccounts } from '../../accounts/judge-accounts.ts';
import { toAbortError } from '../../model/abort.ts';
import { toSyncError } from '../../model/errors.ts';
import type { SharedQuotaPlan } from '../../model/plan-report.ts';
import { type ReportedError, toReportedError } from '../../model/run-report.ts';
import { formatCountOf } from '../../text/format-count.ts';
import { listNames } from '../../text/list-names.ts';
import { nameAccountsDeep, nameAccountsIn } from '../../text/name-accounts.ts';
import { withName } from '../../text/name-once.ts';
import {
  type Command,
  type CommandDefinition,
  type CommandInput,
  type CommandOutcome,
  defineCommand,
} from '../frame/command.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import type { Options } from '../options/resolve-values.ts';
import { usageError } from '../options/usage-error.ts';
import { renderAccountTotals } from '../../render/render-account-totals.ts';
import { renderSharedQuotas } from '../../render/render-shared-quotas.ts';
import { renderError } from '../../render/render-error.ts';
import { wrapText } from '../../render/wrap-text.ts';
import { accountsOption, type ChosenAccounts, listChosen, refuseSharedMistake } from './choose-accounts.ts';
import { describeChosen } from './describe-chosen.ts';

/** `each`: one account after the other. `one`: its result is of a single account. */
export type AccountWay = 'each' | 'one';

/** A command that knows one account, and how it works on several. */
export interface AccountCommandDefinition<O extends Options> extends CommandDefinition<O> {
  readonly accounts: AccountWay | ((input: CommandInput<O>) => AccountWay);
  /** Works on all accounts together, if none was named; undefined where this input is about single ones. */
  readonly runJoint?: (
    context: CliContext,
    input: CommandInput<O>,
    known: ChosenAccounts,
  ) => Promise<CommandOutcome> | undefined;
}

/** A command for a config with or without accounts; it is written as if there was only one. */
export function defineAccountCommand<const O extends Options>(
  definition: AccountCommandDefinition<O>,
): Command {
  const { accounts, runJoint, ...single } = definition;
  return defineCommand<Options>({
    ...single,
    options: { ...definition.options, accounts: accountsOption },
    async run(context, given) {
      const input = given as unknown as CommandInput<O>;
      const patterns = (given.values as { readonly accounts?: readonly string[] }).accounts;
      const chosen = await listChosen(context, given.globals, patterns);
      if (chosen === undefined) return definition.run(context, input);
      const joint = patterns === undefined ? runJoint?.(context, input, chosen) : undefined;
      if (joint !== undefined) return joint;
      const way = typeof accounts === 'function' ? accounts(input) : accounts;
      if (way === 'one')
        return runForOne(onlyOne(context, given.globals, chosen), (own) => definition.run(own, input));
      await refuseSharedMistake(context, given.globals, chosen);
      return runForEach({ context, globals: given.globals, chosen }, (own) => definition.run(own, input));
    },
  });
}

function onlyOne(context: CliContext, globals: GlobalValues, chosen: ChosenAccounts): CliContext {
  const [account, ...more] = chosen.chosen;
  if (account !== undefined && more.length === 0)
    return { ...context, account, ofAccount: describeLater(context, globals, chosen)(account.name) };
  throw usageError(
    `this works on one account at a time, and ${chosen.chosen.length} are selected`,
    `Name one, e.g. --accounts ${account?.name ?? ''}.`,
  );
}

/** Runs a command for the only account that is chosen; what it prints names that account. */
async function runForOne(
  own: CliContext,
  run: (own: CliContext) => Promise<CommandOutcome>,
): Promise<CommandOutcome> {
  const names = own.account === undefined ? [] : [own.account.name];
  const outcome = await run(own).catch((thrown: unknown) => {
    const error = toSyncError(thrown);
    throw error.withHint(nameAccountsIn(error.hint, names));
  });
  const { text, error } = outcome;
  return { ...outcome, text: nameAccountsIn(text, names), error: nameAccountsDeep(error, names) };
}

/** Describes accounts once somebody asks. */
function describeLater(context: CliContext, globals: GlobalValues, known: ChosenAccounts) {
  let describing: ReturnType<typeof describeChosen> | undefined;
  return (name: string) => async () => {
    describing ??= describeChosen(context, globals, known);
    return (await describing)(name);
  };
}

/** One account and what a command found in it. */
interface AccountOutcome extends CommandOutcome {
  readonly account: string;
}

/** The accounts of a command line. */
export interface EachAccount {
  readonly context: CliContext;
  readonly globals: GlobalValues;
  readonly chosen: ChosenAccounts;
}

/** Runs a command for one account after the other; what fails in one is part of the outcome. */
export async function runForEach(
  { context, globals, chosen }: EachAccount,
  run: (own: CliContext) => Promise<CommandOutcome>,
): Promise<CommandOutcome> {
  const outcomes: AccountOutcome[] = [];
  const describe = describeLater(context, globals, chosen);
  for (const account of chosen.chosen) {
    if (context.signal.aborted) throw toAbortError(context.signal);
    const { name } = account;
    const writeNote = (line: string) => context.output.writeNote(`${name}: ${nameAccountsIn(line, [name])}`);
    const own = {
      ...context,
      account,
      ofAccount: describe(name),
      output: { ...context.output, writeNote },
    };
    outcomes.push({
      account: name,
      ...(await run(own).catch((thrown: unknown) => toFailed(context, thrown))),
    });
  }
  return joinOutcomes(outcomes, await planShared(context, outcomes), context.output.stdout.columns());
}

function toFailed({ output }: CliContext, thrown: unknown): CommandOutcome {
  const error = toSyncError(thrown);
  const { exitCode, message } = error;
  const text = renderError(error, output.stdout);
  return { exitCode, summary: message, result: null, text, error: toReportedError(error) };
}

async function planShared(
  { engine }: CliContext,
  outcomes: readonly AccountOutcome[],
): Promise<readonly SharedQuotaPlan[]> {
  const planned = outcomes.flatMap(({ account, requests }) =>
    requests?.from === undefined ? [] : [{ account, requests: requests.planned, from: requests.from }],
  );
  return planned.length > 1 ? engine.planSharedQuotas(planned) : [];
}

function joinOutcomes(
  outcomes: readonly AccountOutcome[],
  sharedQuotas: readonly SharedQuotaPlan[],
  columns: number | undefined,
): CommandOutcome {
  const failed = outcomes.filter(({ exitCode }) => exitCode !== 0);
  const count = formatCountOf(outcomes.length, 'account');
  const names = listNames(failed.map(({ account }) => account));
  return {
    exitCode: judgeAccounts(outcomes.map(({ exitCode }) => exitCode)),
    summary: failed.length === 0 ? count : `${count}, ${failed.length} failed: ${names}`,
    result: {
      accounts: outcomes.map(({ account, exitCode, summary, result, error = null }) => ({
        account,
        ok: exitCode === 0,
        exitCode,
        summary,
        result: nameAccountsDeep(result, [account]),
        error: nameAccountsDeep(error, [account]),
      })),
      ...(sharedQuotas.length > 0 && { sharedQuotas }),
    },
    text: [
      ...joinPages(outcomes),
      wrapText(renderSharedQuotas(sharedQuotas), columns),
      wrapText(renderAccountTotals(outcomes), columns),
    ]
      .filter((part) => part !== '')
      .join('\n\n'),
    error: nameError(failed),
  };
}

/** The page of each; accounts that failed in the same words have one together. */
function joinPages(outcomes: readonly AccountOutcome[]): readonly string[] {
  const pages = Map.groupBy(outcomes, ({ account, exitCode, text }) =>
    exitCode === 0 ? account : `${exitCode}\n${text}`,
  );
  return [...pages.values()].map((alike) => {
    const names = alike.map(({ account }) => account);
    return `${names.join(', ')}:\n${nameAccountsIn(alike[0]?.text ?? '', names)}`;
  });
}

/** The first failure, with the name of its account. */
function nameError([first]: readonly AccountOutcome[]): ReportedError | undefined {
  if (first?.error === undefined) return undefined;
  const error = nameAccountsDeep(first.error, [first.account]);
  return { ...error, message: withName(error.message, first.account) };
}
