import { judgeAccounts } from '../../accounts/judge-accounts.ts';
import { mapAtOnce } from '../../accounts/map-at-once.ts';
import { toSyncError } from '../../model/errors.ts';
import type { AccountsReportSummary, ReportRequest } from '../../model/report-data.ts';
import type { PublishedFault } from '../../model/reports.ts';
import { toReportedError } from '../../model/run-report.ts';
import { formatBytes } from '../../text/format-bytes.ts';
import { formatCount } from '../../text/format-count.ts';
import { listNames } from '../../text/list-names.ts';
import { withName } from '../../text/name-once.ts';
import type { CommandOutcome } from '../frame/command.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import type { AccountToReport } from '../frame/report-engine.ts';
import { toSafeLine } from '../../render/safe-text.ts';
import { wrapText } from '../../render/wrap-text.ts';
import type { ChosenAccounts } from './choose-accounts.ts';
import { loadOfflineSettings } from './load-settings.ts';
import { writeOutput } from './output-file.ts';
import { findTarget } from './report-file.ts';

/** A report of several accounts as it was asked for. */
export interface AccountsReportRequest extends Pick<ChosenAccounts, 'chosen'> {
  /** What is wrong with the files that join all accounts. */
  readonly faults: readonly PublishedFault[];
  /** As the user gave it. */
  readonly output: string;
  readonly request: ReportRequest;
}

/** Writes one file about all chosen accounts. It fails only if nothing at all could be read. */
export async function reportAccounts(
  context: CliContext,
  globals: GlobalValues,
  { chosen, faults, output, request }: AccountsReportRequest,
): Promise<CommandOutcome> {
  const { engine, signal } = context;
  const target = await findTarget(context.cwd, output);
  const accounts = await listAccountsToReport(context, globals, chosen);
  const report = await engine.makeAccountsReport(accounts, { ...request, faults, signal });
  const { summary } = report;
  const bytes = await writeOutput(target, report.html, context.randomHex(8));
  const failed = summary.accounts.flatMap(({ account, error }) => (error === null ? [] : { account, error }));
  const [first] = failed;
  const isLost = failed.length === summary.accounts.length;
  const text = [`Wrote ${toSafeLine(output)} (${formatBytes(bytes)})`, ...describeReport(summary)].join('\n');
  return {
    exitCode: isLost ? judgeAccounts(failed.map(({ error }) => error.exitCode)) : 0,
    summary: `${summary.headline}; written to ${output}`,
    result: { path: target.absolute, bytes, ...summary },
    text: wrapText(text, context.output.stdout.columns()),
    ...(isLost &&
      first && { error: { ...first.error, message: withName(first.error.message, first.account) } }),
  };
}

/** Reads the settings of accounts for a report, or why they cannot be used. */
export function listAccountsToReport(
  context: CliContext,
  globals: GlobalValues,
  chosen: ChosenAccounts['chosen'],
): Promise<readonly AccountToReport[]> {
  return mapAtOnce(chosen, 1, async (account): Promise<AccountToReport> => {
    const { name } = account;
    try {
      return { account: name, settings: await loadOfflineSettings({ ...context, account }, globals) };
    } catch (thrown) {
      return { account: name, error: toReportedError(toSyncError(thrown)) };
    }
  });
}

const MOST_FINDINGS = 10;

function describeReport({ headline, accounts, faults = [] }: AccountsReportSummary): readonly string[] {
  const told = accounts.flatMap(({ account, report, error }) =>
    error === null
      ? (report?.findings ?? [])
          .filter(({ tone }) => tone === 'bad' || tone === 'note')
          .map(({ tone, what }) => ({ account, tone, what }))
      : [{ account, tone: 'bad' as const, what: error.message }],
  );
  const order = ['bad', 'note'];
  const sorted = told.toSorted((a, b) => order.indexOf(a.tone) - order.indexOf(b.tone));
  // What accounts have in common is said once.
  const alike = [...Map.groupBy(sorted, ({ what }) => what)];
  const more = alike.length - MOST_FINDINGS;
  return [
    `${headline}.`,
    ...faults.map(({ detail }) => `- ${toSafeLine(detail)}.`),
    ...alike
      .slice(0, MOST_FINDINGS)
      .map(([what, of]) => `- ${listNames(of.map(({ account }) => account))}: ${toSafeLine(what)}`),
    ...(more > 0 ? [`and ${formatCount(more)} more`] : []),
  ];
}
