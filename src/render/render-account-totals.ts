import type { ExitCode } from '../model/errors.ts';
import { formatCount, formatCountOf } from '../text/format-count.ts';
import { listNames } from '../text/list-names.ts';

/** What a command found in one account; without `requests` it failed before it sent one. */
export interface AccountCounts {
  readonly account: string;
  readonly exitCode: ExitCode;
  /** `planned`: what the next sync takes, for a plan; undefined if it is not known. */
  readonly requests?: { readonly used: number; readonly planned?: number | undefined } | undefined;
}

/** The last line below the pages of several accounts; '' for a command that counts no requests. */
export function renderAccountTotals(accounts: readonly AccountCounts[]): string {
  const counted = accounts.flatMap(({ requests }) => requests ?? []);
  if (counted.length === 0) return '';
  const failed = accounts.filter(({ exitCode }) => exitCode !== 0);
  const names = listNames(failed.map(({ account }) => account));
  const states = [
    `${formatCount(accounts.length - failed.length)} ready`,
    ...(failed.length === 0 ? [] : [`${formatCount(failed.length)} failed (${names})`]),
  ];
  const used = formatCountOf(
    counted.reduce((sum, one) => sum + one.used, 0),
    'request',
  );
  return `${formatCountOf(accounts.length, 'account')}: ${states.join(', ')}; ${describePlanned(accounts)}${used} used.`;
}

function describePlanned(accounts: readonly AccountCounts[]): string {
  const plans = accounts.flatMap(({ requests }) =>
    requests !== undefined && 'planned' in requests ? [requests] : [],
  );
  if (plans.length === 0) return '';
  const known = plans.flatMap(({ planned }) => planned ?? []);
  const sum = known.reduce((total, one) => total + one, 0);
  const isWhole = known.length === accounts.length;
  // "At least 0" would say nothing.
  if (sum === 0 && !isWhole) return '';
  const least = isWhole ? '' : 'at least ';
  return `the next sync takes ${least}${formatCountOf(sum, 'request')} in all; `;
}
