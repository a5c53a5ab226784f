import type { StatusReport } from '../../model/reports.ts';
import { withoutEnd } from '../../model/run-report.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import { type CommandOutcome, defineCommand } from '../frame/command.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import { flagOption } from '../options/option-kinds.ts';
import { usageError } from '../options/usage-error.ts';
import { hasFleet } from '../../config/accounts.ts';
import { accountsOption, type ChosenAccounts, chooseAccounts } from '../steps/choose-accounts.ts';
import { loadOfflineSettings } from '../steps/load-settings.ts';

const LOOKS_EVERY_MS = 2_000;
// A log, unlike a screen, keeps every look.
const LOGS_EVERY_MS = 30_000;
const CLEAR_SCREEN = '\u001b[H\u001b[2J';

/** How fresh and how complete the data is. */
export const statusCommand = defineCommand({
  description: 'Reads the published file and the state folder only: no request, no key, no lock.',
  options: {
    watch: flagOption({
      flag: 'watch',
      summary: 'Refresh every 2 s until the current run has ended',
      group: 'Looking:',
    }),
    accounts: accountsOption,
  },
  examples: [
    ['sluice status', 'With ./sluice.yaml'],
    ['sluice status --watch', 'During a long first sync, in a second terminal'],
    ['sluice status --json', 'For a monitor'],
    ['sluice status --accounts acme', 'One of several accounts, with its streams'],
  ],
  async run(context, { values, globals }) {
    context.chooseStop('quit');
    if (values.watch === true && globals.json === true)
      throw usageError(
        '--watch and --json cannot be combined',
        'Run sluice status --json as often as you like.',
      );
    const isWatch = values.watch === true;
    const chosen = await chooseAccounts(context, globals, values.accounts);
    if (chosen !== undefined) {
      const isNamed = values.accounts !== undefined;
      return showAccounts(context, globals, { known: chosen, isNamed, isWatch });
    }
    const settings = await loadOfflineSettings(context, globals);
    const report = isWatch ? await watchStatus(context, settings) : await context.engine.readStatus(settings);
    const { summarizeStatus } = await import('../../render/render-status.ts');
    const text = await render(context, report);
    return { exitCode: 0, summary: summarizeStatus(report), result: toJson(report), text };
  },
});

/** Shows the status repeatedly while a run is in progress; returns the first one after it. */
async function watchStatus(context: CliContext, settings: OfflineSettings): Promise<StatusReport> {
  for (;;) {
    const report = await context.engine.readStatus(settings);
    if (!isRunning(report)) return report;
    await showUntilNext(context, await render(context, report));
  }
}

function toJson(report: StatusReport): StatusReport {
  return { ...report, lastRun: report.lastRun && withoutEnd(report.lastRun) };
}

function isRunning(report: StatusReport | undefined): boolean {
  return report?.lastRun?.status === 'running';
}

async function showUntilNext({ clock, output, signal }: CliContext, text: string): Promise<void> {
  const { isTerminal } = output.stdout;
  output.writeResult(`${isTerminal ? CLEAR_SCREEN : ''}${output.mask(text)}\n`);
  await clock.sleep(isTerminal ? LOOKS_EVERY_MS : LOGS_EVERY_MS, signal);
}

/** An overview of the accounts; with `isWatch`, again and again while one of them is being synced. */
async function showAccounts(
  context: CliContext,
  globals: GlobalValues,
  {
    known,
    isNamed,
    isWatch,
  }: { readonly known: ChosenAccounts; readonly isNamed: boolean; readonly isWatch: boolean },
): Promise<CommandOutcome> {
  const { readAccountsStatus, drawAccountsStatus, toStatusOutcome } =
    await import('../steps/accounts-status.ts');
  // A question about some accounts by name is not one about others.
  const leftovers = isNamed ? [] : await context.engine.findLeftovers(known);
  for (;;) {
    const accounts = await readAccountsStatus(context, globals, known);
    const faults = isNamed ? [] : await context.engine.findJointFaults(known);
    const shown = { accounts, isNamed, leftovers, isFleet: hasFleet(known), faults };
    if (!isWatch || !accounts.some(({ status }) => isRunning(status))) return toStatusOutcome(context, shown);
    await showUntilNext(context, drawAccountsStatus(context, shown));
  }
}

async function render({ clock, output }: CliContext, report: StatusReport): Promise<string> {
  const { renderStatus } = await import('../../render/render-status.ts');
  return renderStatus(report, { nowMs: clock.now(), columns: output.stdout.columns() });
}
