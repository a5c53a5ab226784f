import type { AccountEnd, AccountsReport, JointFile } from '../model/accounts-report.ts';
import { formatBytes } from '../text/format-bytes.ts';
import { formatDuration } from '../text/duration.ts';
import { formatCount, formatCountOf } from '../text/format-count.ts';
import { listNames } from '../text/list-names.ts';
import { drawFittingTable } from './fitting-table.ts';
import { describeAccountErrors } from './describe-account-errors.ts';
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
    [describeCost(report), ...report.files.map(describeFile), describeReturn(report, nowMs)]
      .filter((line) => line !== '')
      .join('\n'),
  ];
  return [table, ...prose.map((text) => wrapText(text, columns))].filter((part) => part !== '').join('\n\n');
}

/** One sentence about it. */
export function summarizeAccounts({ accounts, error }: AccountsReport): string {
  const names = (pick: (one: AccountEnd) => boolean) => accounts.filter(pick).map(({ account }) => account);
  const failed = names(({ exitCode }) => exitCode !== 0 && exitCode !== 75);
  const later = names(({ exitCode }) => exitCode === 75);
  const done = accounts.length - failed.length - later.length;
  const parts = [
    `${formatCount(done)} of ${formatCountOf(accounts.length, 'account')} complete`,
    failed.length === 0 ? '' : `${formatCount(failed.length)} failed (${listNames(failed)})`,
    later.length === 0 ? '' : `${formatCount(later.length)} to be continued (${listNames(later)})`,
    error === undefined ? '' : 'what joins them was not written',
  ];
  return parts.filter((part) => part !== '').join(', ');
}

function describeRow({ account, exitCode, report, runs }: AccountEnd): readonly string[] {
  if (report === undefined) return [account, runs === 0 ? 'not run' : 'failed', '', '', '', '', ''];
  const { rows, streams, requests } = report;
  const verified = streams.filter(({ verdict }) => verdict === 'verified').length;
  const inTable = streams.reduce((sum, { rowsInTable = 0 }) => sum + rowsInTable, 0);
  return [
    account,
    exitCode === 0 ? 'complete' : report.status,
    `${formatCount(verified)} of ${formatCountOf(streams.length, 'stream')}`,
    formatCount(rows.inserted),
    formatCount(rows.updated),
    formatCount(inTable),
    formatCount(requests),
  ];
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
