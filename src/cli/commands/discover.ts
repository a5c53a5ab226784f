import type { ContractFile, DiscoverReport } from '../../model/discover-report.ts';
import type { ExitCode } from '../../model/errors.ts';
import type { ReportedError } from '../../model/run-report.ts';
import type { CommandOutcome } from '../frame/command.ts';
import { defineAccountCommand } from '../steps/define-account-command.ts';
import type { CliContext } from '../frame/context.ts';
import type { DiscoverRequest } from '../frame/engine.ts';
import { countOption, flagOption } from '../options/option-kinds.ts';
import { readStreamNames } from '../options/streams-argument.ts';
import { usageError } from '../options/usage-error.ts';
import { formatCount, formatCountOf, verbOf } from '../../text/format-count.ts';
import { formatUpcoming } from '../../render/format-values.ts';
import { toSafeLine } from '../../render/safe-text.ts';
import { wrapText } from '../../render/wrap-text.ts';
import { loadSettings } from '../steps/load-settings.ts';

const sampling = 'Sample:';
const trying = 'Parameters:';
const saving = 'Contracts:';

/** What endpoints contain and support, learned from a few of their records. */
export const discoverCommand = defineAccountCommand({
  accounts: ({ values }) => (values.write === true ? 'one' : 'each'),
  description:
    'Samples streams with a few requests and shows their fields, keys and cursors, each with its evidence. ' +
    'Then offers to test start dates and filters, and says beforehand what that costs.',
  argument: { name: 'streams', summary: 'stream names separated by commas', required: false },
  options: {
    pages: countOption({
      flag: 'pages',
      summary: 'Pages of each paginated stream to sample (default 3)',
      group: sampling,
      example: '3',
      max: 200,
    }),
    noExamples: flagOption({ flag: 'no-examples', summary: 'Show no values of the data', group: sampling }),
    maxRequests: countOption({
      flag: 'max-requests',
      summary: 'Send at most this many requests',
      group: sampling,
      example: '20',
    }),
    yes: flagOption({ flag: 'yes', summary: 'Test start dates and filters without asking', group: trying }),
    noProbe: flagOption({ flag: 'no-probe', summary: 'Do not test them, and do not ask', group: trying }),
    write: flagOption({
      flag: 'write',
      summary: 'Save contracts/<stream>.schema.json next to the config',
      group: saving,
    }),
    force: flagOption({
      flag: 'force',
      summary: 'With --write: replace files that differ',
      group: saving,
    }),
  },
  examples: [
    ['sluice discover', 'Every stream'],
    ['sluice discover prompts_analytics --yes --write', 'One stream in full detail; saves its contract'],
  ],
  async run(context, { values, globals, argument }) {
    context.chooseStop('quit');
    const { pages, noExamples, maxRequests, yes, noProbe, write, force } = values;
    if (yes === true && noProbe === true)
      throw usageError('--yes and --no-probe cannot be combined', 'Give one of them.');
    if (force === true && write !== true)
      throw usageError('--force only affects files that --write saves', 'Give --write too.');
    const streams = readStreamNames(argument);
    const settings = await loadSettings(context, globals, { contracts: 'ignored' });
    for (const warning of settings.warnings) note(context, `warning: ${toSafeLine(warning)}`);
    const report = await context.engine.discover(settings, {
      ...(streams !== undefined && { streams }),
      ...(pages !== undefined && { pages }),
      ...(maxRequests !== undefined && { maxRequests }),
      ...(write === true && { write: { force: force === true } }),
      examples: noExamples !== true,
      confirmProbes: chooseConfirmation(context, { yes, noProbe, isJson: globals.json === true }),
      signal: context.signal,
    });
    return toOutcome(context, report);
  },
});

function chooseConfirmation(
  context: CliContext,
  choice: {
    readonly yes?: boolean | undefined;
    readonly noProbe?: boolean | undefined;
    readonly isJson: boolean;
  },
): DiscoverRequest['confirmProbes'] {
  if (choice.noProbe === true) return undefined;
  if (choice.yes === true) return () => Promise.resolve(true);
  const { prompt } = context;
  if (prompt === undefined || choice.isJson) return undefined;
  return async (mostRequests, { requestsSpent, quotaLeft, wanted, returnsAtMs }) => {
    const left =
      quotaLeft === undefined ? '' : `, ${formatCount(quotaLeft)} ${verbOf(quotaLeft, 'is', 'are')} left now`;
    note(context, `Sampled with ${formatCountOf(requestsSpent, 'request')}${left}.`);
    const most = formatCountOf(mostRequests, 'more request');
    const isShort = mostRequests < wanted;
    if (isShort) note(context, describeShortage(wanted, returnsAtMs, context.clock.now()));
    const what = isShort ? 'Test some of them now?' : 'Test what start dates and filters do?';
    const question = `${what} That takes up to ${most}`;
    // End of input means no; what was sampled is still shown.
    const answer = await prompt(question, 'yes').catch(() => 'no');
    return /^y(es)?$/i.test(answer);
  };
}

function describeShortage(wanted: number, returnsAtMs: number | undefined, nowMs: number): string {
  const all = `Testing all start dates and filters takes up to ${formatCountOf(wanted, 'request')}.`;
  const more =
    returnsAtMs === undefined ? '' : `; the quota has more at ${formatUpcoming(returnsAtMs, nowMs)}`;
  return `${all} The quota does not allow all of them now${more}.`;
}

function note({ output }: CliContext, line: string): void {
  output.writeNote(wrapText(line, output.stderr.columns()));
}

async function toOutcome({ clock, output }: CliContext, report: DiscoverReport): Promise<CommandOutcome> {
  const { renderDiscovery, summarizeDiscovery } = await import('../../render/render-discover.ts');
  const error = findError(report);
  return {
    exitCode: error === undefined ? 0 : chooseExitCode(report, error),
    summary: summarizeDiscovery(report),
    result: report,
    text: renderDiscovery(report, output.stdout, clock.now()),
    error,
  };
}

function findError({ streams, probes, contracts }: DiscoverReport): ReportedError | undefined {
  return streams.find(({ error }) => error !== undefined)?.error ?? probes.error ?? describeKept(contracts);
}

// As for a plan: the code of the failure if all failed for the same reason, and 5 if others succeeded.
function chooseExitCode({ streams }: DiscoverReport, first: ReportedError): ExitCode {
  const codes = new Set(streams.flatMap(({ error }) => (error === undefined ? [] : [error.exitCode])));
  const allFail = streams.every(({ error }) => error !== undefined);
  return codes.size === 0 || (codes.size === 1 && (allFail || codes.has(75))) ? first.exitCode : 5;
}

function describeKept(contracts: readonly ContractFile[]): ReportedError | undefined {
  const kept = contracts.filter(({ state }) => state === 'kept');
  if (kept.length === 0) return undefined;
  return {
    code: 'usage_invalid',
    message: `${formatCountOf(kept.length, 'contract file')} kept: ${kept.map(({ stream }) => stream).join(', ')}`,
    hint: `They differ from the sample; \`sluice discover ${kept.map(({ stream }) => stream).join(',')} --write --force\` replaces them.`,
    exitCode: 2,
  };
}
