import type { AccountEnd, AccountsReport, JointFile } from '../model/accounts-report.ts';
import { formatBytes } from '../text/format-bytes.ts';
import { formatDuration } from '../text/duration.ts';
import { formatCount, formatCountOf } from '../text/format-count.ts';
import { listNames } from '../text/list-names.ts';
import { drawFittingTable } from './fitting-table.ts';
import { describeAccountErrors, isBusy } from './describe-account-errors.ts';
import { formatReturnTime } from './format-values.ts';
import type { ReportOptions } from './render-sync.ts';
import { toSafeLine } from './safe-text.ts';
import { wrapText } from './wrap-text.ts';

/** A sync of several accounts for people: a line an account, what failed and why, and when to run again. */
export function renderAccountsReport(report: AccountsReport, { nowMs, columns }: ReportOptions): string {
  const table = drawFittingTable(
    [
      { title: 'ACCOUNT' },
      { title: 'RESULT' },
      { title: 'VERIFIED' },
      { title: 'NEW', align: 'right' },
      { title: 'CHANGED', align: 'right' },
      { title: 'IN TABLE', align: 'right' },
      { title: 'REQUESTS', align: 'right', dropAt: 1 },
    ],
    report.accounts.map(describeRow),
    columns,
  );
  const prose = [
    report.warnings.map((warning) => `warning: ${toSafeLine(warning)}`).join('\n'),
    describeAccountErrors(report.accounts.filter(({ exitCode }) => exitCode !== 0)),
    describeJointError(report),
    [
      describeNothingDue(report),
      describeCost(report),
      ...report.files.map(describeFile),
      describeReturn(report, nowMs),
    ]
      .filter((line) => line !== '')
      .join('\n'),
  ];
  return [table, ...prose.map((text) => wrapText(text, columns))].filter((part) => part !== '').join('\n\n');
}

/** One sentence about it. */
export function summarizeAccounts({ accounts, error }: AccountsReport): string {
  const ends = Map.groupBy(accounts, describeKind);
  const count = (kind: EndKind) => ends.get(kind)?.length ?? 0;
  const parts = [
    `${formatCount(count('complete'))} of ${formatCountOf(accounts.length, 'account')} complete`,
    ...NAMED_KINDS.map((kind) => {
      const names = (ends.get(kind) ?? []).map(({ account }) => account);
      return names.length === 0 ? '' : `${formatCount(names.length)} ${kind} (${listNames(names)})`;
    }),
    count('not run') === 0 ? '' : `${formatCount(count('not run'))} not run`,
    error === undefined ? '' : 'what joins them was not written',
  ];
  return parts.filter((part) => part !== '').join(', ');
}

const NAMED_KINDS = ['failed', 'busy', 'to be continued', 'stopped'] as const;
type EndKind = 'complete' | 'not run' | (typeof NAMED_KINDS)[number];

/** How an account ended; one whose turn had not come when a person stopped the sync did not fail. */
function describeKind({ exitCode, error, report, runs }: AccountEnd): EndKind {
  if (exitCode === 0) return 'complete';
  if (exitCode === 130 || exitCode === 143) return runs === 0 ? 'not run' : 'stopped';
  if (exitCode !== 75) return 'failed';
  return report === undefined && isBusy(error) ? 'busy' : 'to be continued';
}

function describeRow(end: AccountEnd): readonly string[] {
  const { account, exitCode, report, runs } = end;
  if (report === undefined) return [account, runs === 0 ? 'not run' : describeKind(end), '', '', '', '', ''];
  const { rows, streams, requests } = report;
  const verified = streams.filter(({ verdict }) => verdict === 'verified').length;
  const known = streams.flatMap(({ rowsInTable }) => rowsInTable ?? []);
  return [
    account,
    exitCode === 0 ? 'complete' : report.status,
    `${formatCount(verified)} of ${formatCountOf(streams.length, 'stream')}`,
    formatCount(rows.inserted),
    formatCount(rows.updated),
    // A run that ended before it looked at a table does not know its rows.
    formatCount(known.length === 0 ? undefined : known.reduce((sum, count) => sum + count, 0)),
    formatCount(requests),
  ];
}

/** A sync of one account says the same beside each stream. */
function describeNothingDue({ accounts }: AccountsReport): string {
  const streams = accounts.flatMap(({ report }) => report?.streams ?? []);
  const isFresh = streams.length > 0 && streams.every(({ status }) => status === 'fresh');
  if (!isFresh || accounts.some(({ exitCode }) => exitCode !== 0)) return '';
  return 'Nothing was due: every stream was synced recently, and no request was sent (--force syncs them anyway).';
}

function describeCost(report: AccountsReport): string {
  const { accounts, startedAt, finishedAt } = report;
  const requests = accounts.reduce((sum, { report }) => sum + (report?.requests ?? 0), 0);
  const tookMs = Date.parse(finishedAt) - Date.parse(startedAt);
  return `${summarizeAccounts(report)}; ${formatCountOf(requests, 'request')} used; took ${formatDuration(tookMs)}.`;
}

function describeJointError({ error }: AccountsReport): string {
  if (error === undefined) return '';
  return `all accounts together: ${toSafeLine(error.message)}\n  next: ${toSafeLine(error.hint)}`;
}

function describeFile({ path, isReplaced, bytes, leftOut }: JointFile): string {
  if (bytes === 0) return '';
  const missing = leftOut.length === 0 ? '' : ` Without ${listNames(leftOut)}: nothing is published yet.`;
  const what = isReplaced ? `(${formatBytes(bytes)})` : 'is unchanged';
  return `All accounts: ${toSafeLine(path)} ${what}.${missing}`;
}

function describeReturn({ exitCode, resumeAt, accounts }: AccountsReport, nowMs: number): string {
  if (!accounts.some((one) => one.exitCode === 75) || exitCode === 130 || exitCode === 143) return '';
  const ms = resumeAt === undefined ? Number.NaN : Date.parse(resumeAt);
  const from = ms > nowMs ? ` from ${formatReturnTime(ms, nowMs)} on` : ' later';
  return `Run the same command again${from}: those that are not done continue from here.`;
}
