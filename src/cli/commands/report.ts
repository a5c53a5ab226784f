import type { RenderedReport, ReportSummary } from '../../model/report-data.ts';
import { defineCommand } from '../frame/command.ts';
import { countOption, flagOption, textOption } from '../options/option-kinds.ts';
import { usageError } from '../options/usage-error.ts';
import { formatCount } from '../../text/format-count.ts';
import { formatBytes } from '../../text/format-bytes.ts';
import { toSafeLine } from '../../render/safe-text.ts';
import { wrapText } from '../../render/wrap-text.ts';
import { accountsOption, chooseAccounts } from '../steps/choose-accounts.ts';
import { loadFleet } from '../steps/load-fleet.ts';
import { loadOfflineSettings } from '../steps/load-settings.ts';
import { PAGE_TOKEN } from '../../metrics/page-guard.ts';

const group = 'Report:';
const DEFAULT_OUTPUT = 'report.html';
const serving = 'Serving:';
const LOOPBACK = '127.0.0.1';
const DEFAULT_PORT = 9465;

/** The state of the data as one HTML page. */
export const reportCommand = defineCommand({
  description:
    'Writes one HTML file, or serves a page, that needs no script and no network: how fresh and complete each stream ' +
    'is, rows per day and run, the quota, schema changes, quarantine and what the columns hold. Reads the published ' +
    'file only: no request, no key, no lock.',
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
      summary: 'Report on the whole fleet instead, from fleet.database: accounts, failures, runs, workers',
      group,
    }),
    serve: flagOption({
      flag: 'serve',
      summary: 'Serve it as a page that is made again at each load, and shows a run in progress',
      group: serving,
    }),
    servePort: countOption({
      flag: 'serve-port',
      summary: `Port to serve it on; 0 for any free one (default ${DEFAULT_PORT})`,
      group: serving,
      example: '8080',
      min: 0,
      max: 65_535,
    }),
    serveHost: textOption({
      flag: 'serve-host',
      valueName: 'address',
      summary: `Address to serve it on (default 127.0.0.1); any other address needs ${PAGE_TOKEN}`,
      group: serving,
      example: '0.0.0.0',
    }),
  },
  examples: [
    ['sluice report', `Writes ${DEFAULT_OUTPUT} here`],
    ['sluice report --output /var/www/sluice.html --no-values', 'To share'],
    ['sluice report --fleet --output fleet.html', 'All machines of a fleet'],
    ['sluice report --serve', 'To watch a run'],
  ],
  async run(context, { values, globals, announce }) {
    const { output = DEFAULT_OUTPUT, noValues, fleet, serve } = values;
    const request = { showValues: noValues !== true };
    refuseMixed(values);
    if (serve === true) {
      context.chooseStop('close');
      // A config that is broken at the start ends it, and not each load of the page.
      if (fleet === true) await loadFleet(context, globals);
      else if ((await chooseAccounts(context, globals, values.accounts)) === undefined)
        await loadOfflineSettings(context, globals);
      const { openFleetPages, openPages } = await import('../steps/page-sources.ts');
      const { serveReport } = await import('../steps/serve-report.ts');
      const source =
        fleet === true
          ? openFleetPages(context, globals)
          : openPages(context, globals, values.accounts, request);
      const { servePort: port = DEFAULT_PORT, serveHost: host = LOOPBACK } = values;
      return serveReport(context, source, { port, host, announce });
    }
    context.chooseStop('quit');
    if (fleet === true) {
      const { reportFleet } = await import('../steps/fleet-report.ts');
      return reportFleet(context, globals, output);
    }
    const chosen = await chooseAccounts(context, globals, values.accounts);
    if (chosen !== undefined) {
      const { reportAccounts } = await import('../steps/accounts-report.ts');
      const faults = values.accounts === undefined ? await context.engine.findJointFaults(chosen) : [];
      return reportAccounts(context, globals, { chosen: chosen.chosen, faults, output, request });
    }
    const settings = await loadOfflineSettings(context, globals);
    const { findTarget } = await import('../steps/report-file.ts');
    const { writeOutput } = await import('../steps/output-file.ts');
    // Checked before anything is read, so that a bad path fails at once and not after half a minute.
    const target = await findTarget(context.cwd, output);
    const report = await context.engine.makeReport(settings, request);
    const bytes = await writeOutput(target, report.html, context.randomHex(8));
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

/** Options that cannot be given together, or not alone. */
interface Mixed {
  readonly output: string | undefined;
  readonly accounts: readonly string[] | undefined;
  readonly fleet: boolean | undefined;
  readonly serve: boolean | undefined;
  readonly servePort: number | undefined;
  readonly serveHost: string | undefined;
}

function refuseMixed({ output, accounts, fleet, serve, servePort, serveHost }: Mixed): void {
  if (fleet === true && accounts !== undefined)
    throw usageError('--fleet and --accounts cannot be combined', 'The page of a fleet has all accounts.');
  if (serve === true && output !== undefined)
    throw usageError('--serve and --output cannot be combined', 'Leave out --output: no file is written.');
  if (serve !== true && (servePort ?? serveHost) !== undefined)
    throw usageError(
      `--serve-${servePort === undefined ? 'host' : 'port'} needs --serve`,
      'For example: sluice report --serve',
    );
}

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
