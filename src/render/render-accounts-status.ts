import type { RunReport, ReportedError } from '../model/run-report.ts';
import type { PublishedFault, StatusReport } from '../model/reports.ts';
import type { Leftover } from '../accounts/find-leftovers.ts';
import type { ExitCode } from '../model/errors.ts';
import { isTurnedAway } from '../model/refused-run.ts';
import { type AccountHealth, describeAccounts } from '../report/judge-account.ts';
import { describeAge, formatDuration } from '../text/duration.ts';
import { formatCount } from '../text/format-count.ts';
import { describeAccountErrors, type FailedAccount } from './describe-account-errors.ts';
import { drawFittingTable } from './fitting-table.ts';
import { describeFaults, renderStatus } from './render-status.ts';
import type { ReportOptions } from './render-sync.ts';
import { toSafeLine } from './safe-text.ts';
import { wrapText } from './wrap-text.ts';

/** What `status` read of one account, or why it could not. */
export type AccountStatus = { readonly account: string; readonly health: AccountHealth } & (
  | { readonly status: StatusReport; readonly error?: undefined; readonly exitCode?: undefined }
  | { readonly status?: undefined; readonly error: ReportedError; readonly exitCode: ExitCode }
);

/** How the status of several accounts is shown. */
export interface AccountsStatusOptions extends ReportOptions {
  /** Whether somebody asked for these accounts by name, and wants their pages too. */
  readonly isNamed: boolean;
  /** What is left of accounts that the config no longer has. */
  readonly leftovers: readonly Leftover[];
  /** What is wrong with the files that join all accounts. */
  readonly faults: readonly PublishedFault[];
  /** Whether a fleet syncs them: then this machine's state folders say nothing of its runs. */
  readonly isFleet: boolean;
}

/** A line an account, in the order given, and the pages of those that were named. */
export function renderAccountsStatus(
  accounts: readonly AccountStatus[],
  { isNamed, leftovers, faults, isFleet, ...options }: AccountsStatusOptions,
): string {
  const { nowMs, columns } = options;
  const table = drawFittingTable(
    [
      { title: 'ACCOUNT' },
      { title: 'HEALTH' },
      { title: 'STREAMS' },
      { title: 'ROWS', align: 'right', dropAt: 1 },
      { title: 'OLDEST VERIFIED', dropAt: 2 },
      { title: 'LAST RUN' },
    ],
    accounts.map((one) => describeRow(one, nowMs)),
    columns,
  );
  const [first] = accounts;
  const prose = [
    describeAccountErrors(accounts.flatMap((one) => findCause(one, isNamed) ?? [])),
    describeFaults(faults),
    describeLeftovers(leftovers),
    isNamed || first === undefined ? '' : `One account: sluice status --accounts ${first.account}`,
    isFleet ? 'This is what was synced from this folder. The runs of the fleet: sluice fleet status' : '',
  ].map((text) => wrapText(text, columns));
  const pages = isNamed ? accounts.flatMap((one) => drawPage(one, options)) : [];
  return [table, ...prose, ...pages].filter((part) => part !== '').join('\n\n');
}

/** Why nothing can be read of an account, or why its sync was refused; the page of one that was named says that too. */
function findCause({ account, ...one }: AccountStatus, isNamed: boolean): FailedAccount | undefined {
  if (one.error !== undefined) return { account, exitCode: one.exitCode, error: one.error };
  const { refused, unreadable } = one.status;
  if (isNamed) return undefined;
  if (refused !== undefined && !isTurnedAway(refused))
    return { account, exitCode: refused.error.exitCode, error: refused.error };
  if (unreadable === undefined) return undefined;
  const message = `the state folder cannot be read: ${unreadable}`;
  return { account, exitCode: 6, error: { code: 'storage_failed', exitCode: 6, message, hint: '' } };
}

/** One sentence about them. */
export function summarizeAccountsStatus(accounts: readonly AccountStatus[]): string {
  const text = describeAccounts(accounts.map(({ health }) => health));
  return `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`;
}

function drawPage({ account, status }: AccountStatus, options: ReportOptions): readonly string[] {
  return status === undefined ? [] : [`${account}:\n${renderStatus(status, options)}`];
}

function describeRow({ account, health, status }: AccountStatus, nowMs: number): readonly string[] {
  const { word, verified, offered, rows, oldestVerifiedAt } = health;
  if (status === undefined) return [account, word, '-', '-', '-', '-'];
  return [
    account,
    word,
    offered === 0 ? 'none' : `${formatCount(verified)} of ${formatCount(offered)} verified`,
    formatCount(rows),
    oldestVerifiedAt === undefined ? 'never' : describeAge(nowMs - Date.parse(oldestVerifiedAt)),
    status.unreadable === undefined ? describeLastRun(status.lastRun, nowMs) : 'not readable',
  ];
}

function describeLastRun(run: RunReport | undefined, nowMs: number): string {
  if (run === undefined) return 'none';
  const ageMs = nowMs - Date.parse(run.startedAt);
  return run.status === 'running'
    ? `running for ${formatDuration(ageMs)}`
    : `${run.status}, ${describeAge(ageMs)}`;
}

const MOST_LEFTOVERS = 10;

/** Nothing is deleted with a line of the config, so what is left has to be seen. */
function describeLeftovers(leftovers: readonly Leftover[]): string {
  const [first] = leftovers;
  const lines = leftovers
    .slice(0, MOST_LEFTOVERS)
    .map(
      ({ account, places }) =>
        `${account} is no longer in the config: ${places.map(({ path }) => toSafeLine(path)).join(', ')}`,
    );
  const more = leftovers.length - lines.length;
  return [
    ...lines,
    ...(more > 0 ? [`and ${formatCount(more)} more`] : []),
    ...(first === undefined
      ? []
      : [`  next: keep it, or delete it with sluice accounts remove ${first.account} --data`]),
  ].join('\n');
}
