import type { RenderedReport, ReportSummary } from '../../model/report-data.ts';
import { defineCommand } from '../frame/command.ts';
import { flagOption, textOption } from '../options/option-kinds.ts';
import { usageError } from '../options/usage-error.ts';
import { formatCount } from '../../text/format-count.ts';
import { formatBytes } from '../../text/format-bytes.ts';
import { toSafeLine } from '../../render/safe-text.ts';
import { wrapText } from '../../render/wrap-text.ts';
import { accountsOption, chooseAccounts } from '../steps/choose-accounts.ts';
import { loadOfflineSettings } from '../steps/load-settings.ts';

const group = 'Report:';
const DEFAULT_OUTPUT = 'report.html';

/** The state of the data as one HTML page. */
export const reportCommand = defineCommand({
  description:
    'Writes one HTML file that needs no script and no network: how fresh and complete each stream is, rows per ' +
    'day and run, the quota, schema changes, quarantine and what the columns hold. Reads the published file only: ' +
    'no request, no key, no lock.',
  options: {
    output: textOption({
      flag: 'output',
      valueName: 'file',
      summary: `Write this file instead of ${DEFAULT_OUTPUT}`,
      group,
      example: 'reports/today.html',
    }),
    noValues: flagOption({
      flag: 'no-values',
      summary: 'Leave out all values of records',
      group,
    }),
    accounts: accountsOption,
    fleet: flagOption({
      flag: 'fleet',
      summary: 'Of the whole fleet instead, from fleet.database: accounts, failures, runs, workers',
      group,
    }),
  },
  examples: [
    ['sluice report', `Writes ${DEFAULT_OUTPUT} here`],
    ['sluice report --output /var/www/sluice.html --no-values', 'To share'],
    ['sluice report --fleet --output fleet.html', 'All machines of a fleet'],
  ],
  async run(context, { values, globals }) {
    context.chooseStop('quit');
    const { output = DEFAULT_OUTPUT, noValues } = values;
    if (values.fleet === true) {
      if (values.accounts !== undefined)
        throw usageError(
          '--fleet and --accounts exclude each other',
          'The page of a fleet has all accounts.',
        );
      const { reportFleet } = await import('../steps/fleet-report.ts');
      return reportFleet(context, globals, output);
    }
    const request = { showValues: noValues !== true };
    const chosen = await chooseAccounts(context, globals, values.accounts);
    if (chosen !== undefined) {
      const { reportAccounts } = await import('../steps/accounts-report.ts');
      return reportAccounts(context, globals, { chosen: chosen.chosen, output, request });
    }
    const settings = await loadOfflineSettings(context, globals);
    const { findTarget, writeReportFile } = await import('../steps/report-file.ts');
    // Checked before anything is read, so that a bad path fails at once and not after half a minute.
    const target = await findTarget(context.cwd, output);
    const report = await context.engine.makeReport(settings, request);
    const bytes = await writeReportFile(target, report.html, context.randomHex(8));
    const text = wrapText(describeReport(output, bytes, report), context.output.stdout.columns());
    const { headline } = report.summary;
    return {
      exitCode: 0,
      summary: `${headline}; written to ${output}`,
      result: { path: target.absolute, bytes, ...report.summary },
      text,
    };
  },
});

const MOST_FINDINGS = 5;

function describeReport(output: string, bytes: number, { summary }: RenderedReport): string {
  const urgent = summary.findings.filter(({ tone }) => tone === 'bad' || tone === 'note');
  const more = urgent.length - MOST_FINDINGS;
  return [
    `Wrote ${toSafeLine(output)} (${formatBytes(bytes)})`,
    `${summary.headline}.`,
    ...urgent.slice(0, MOST_FINDINGS).map(describeFinding),
    ...(more > 0 ? [`and ${formatCount(more)} more`] : []),
  ].join('\n');
}

function describeFinding({ what }: ReportSummary['findings'][number]): string {
  return `- ${toSafeLine(what)}`;
}
