import type { ExitCode } from '../../model/errors.ts';
import type { ComparisonReport, VerifyReport } from '../../model/reports.ts';
import type { ReportedError } from '../../model/run-report.ts';
import type { CommandOutcome } from '../frame/command.ts';
import { defineAccountCommand } from '../steps/define-account-command.ts';
import type { CliContext } from '../frame/context.ts';
import { countOption, flagOption } from '../options/option-kinds.ts';
import { readStreamNames } from '../options/streams-argument.ts';
import { usageError } from '../options/usage-error.ts';
import { formatCountOf } from '../../text/format-count.ts';
import { wrapText } from '../../render/wrap-text.ts';
import { loadOfflineSettings, loadSettings } from '../steps/load-settings.ts';

const DEFAULT_REQUESTS = 50;
const group = 'Against the API:';

/** Whether the copy is correct. */
export const verifyCommand = defineAccountCommand({
  accounts: 'each',
  description:
    'Checks that the published file, the work file, the checkpoints and the archive agree: ' +
    'no request, no key. Files are read whole; with names, tables and archives of those streams are checked. ' +
    'With --against-api it also asks the API and shows the rows that differ.',
  argument: { name: 'streams', summary: 'stream names separated by commas', required: false },
  options: {
    againstApi: flagOption({
      flag: 'against-api',
      summary: 'Compare the published tables with what the API has now',
      group,
    }),
    maxRequests: countOption({
      flag: 'max-requests',
      summary: `Send at most this many requests for the comparison (default ${DEFAULT_REQUESTS})`,
      group,
      example: '200',
    }),
    show: countOption({
      flag: 'show',
      summary: 'Show at most this many examples of each kind of difference (default 5)',
      group,
      example: '20',
      min: 0,
      max: 1_000,
    }),
  },
  examples: [
    ['sluice verify', 'Do the files agree?'],
    [
      'sluice verify prompts_analytics --against-api --max-requests 300',
      'Does the table hold what the API has?',
    ],
  ],
  async run(context, { values, globals, argument }) {
    const { againstApi, maxRequests, show } = values;
    if (againstApi !== true && (maxRequests ?? show) !== undefined)
      throw usageError(
        '--max-requests and --show only affect the comparison with the API',
        'Add --against-api.',
      );
    context.chooseStop('close');
    const names = readStreamNames(argument);
    const streams = names === undefined ? {} : { streams: names };
    const { output, engine, signal } = context;
    if (againstApi !== true) {
      const settings = await loadOfflineSettings(context, globals);
      return toOutcome(context, await engine.verifyState(settings, { ...streams, signal }));
    }
    const settings = await loadSettings(context, globals);
    const offline = await engine.verifyState(settings, { ...streams, signal });
    const budget = maxRequests ?? DEFAULT_REQUESTS;
    const note = `asking the API, with at most ${formatCountOf(budget, 'request')}; --max-requests sets another number`;
    const comparison = await engine.compareWithApi(settings, {
      ...streams,
      maxRequests: budget,
      ...(show !== undefined && { show }),
      onBegin: () => output.writeNote(wrapText(note, output.stderr.columns())),
      signal,
    });
    return toOutcome(context, { ...offline, comparison });
  },
});

async function toOutcome({ clock, output }: CliContext, offline: VerifyReport): Promise<CommandOutcome> {
  const { AFTER_DIFFERENCE, renderVerify, summarizeVerify } = await import('../../render/render-verify.ts');
  const exitCode = offline.exitCode === 6 ? 6 : (findComparisonCode(offline.comparison) ?? offline.exitCode);
  const report = { ...offline, exitCode, ok: exitCode === 0 };
  return {
    exitCode,
    summary: summarizeVerify(report),
    result: report,
    text: renderVerify(report, output.stdout, clock.now()),
    error: toError(report, summarizeVerify(report), AFTER_DIFFERENCE),
  };
}

/** What the comparison found, unless all is well. */
function findComparisonCode(comparison: ComparisonReport | undefined): ExitCode | undefined {
  const streams = comparison?.streams ?? [];
  if (streams.some(({ differs }) => differs)) return 4;
  return streams.find(({ error }) => error !== undefined)?.error?.exitCode;
}

function toError(report: VerifyReport, summary: string, afterDifference: string): ReportedError | undefined {
  const { exitCode, items, comparison } = report;
  if (exitCode === 0) return undefined;
  const failed = items.find(({ status }) => status === (exitCode === 75 ? 'skipped' : 'failed'));
  if (exitCode === 6 && failed !== undefined)
    return {
      code: 'verify_failed',
      message: `${failed.name}: ${failed.detail}`,
      hint: failed.fix ?? '',
      exitCode,
    };
  if (exitCode === 4 && comparison?.streams.some(({ differs }) => differs) === true)
    return {
      code: 'verify_differs',
      message: summary,
      hint: afterDifference,
      exitCode,
    };
  const error = comparison?.streams.find((stream) => stream.error !== undefined)?.error;
  return (
    error ?? { code: 'state_locked', message: failed?.detail ?? summary, hint: failed?.fix ?? '', exitCode }
  );
}
