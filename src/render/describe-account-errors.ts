import type { ExitCode } from '../model/errors.ts';
import type { ReportedError } from '../model/run-report.ts';
import { formatCountOf } from '../text/format-count.ts';
import { listNames } from '../text/list-names.ts';
import { nameAccountsIn } from '../text/name-accounts.ts';
import { toSafeLine } from './safe-text.ts';

const MOST_CAUSES = 10;
/** Each of them has a folder and a holder of its own, which would hide that the cause is the same. */
const BUSY = 'another run is at work on each of them';

/** An account in which something failed. */
export interface FailedAccount {
  readonly account: string;
  readonly exitCode: ExitCode;
  readonly error: ReportedError | undefined;
}

/** What failed and what to do next. What accounts share, such as a broken config, is said once; '' if nothing failed. */
export function describeAccountErrors(failed: readonly FailedAccount[]): string {
  const byCause = Map.groupBy(failed, ({ error }) =>
    isBusy(error) ? BUSY : `${error?.message ?? ''}\n${error?.hint ?? ''}`,
  );
  const lines = [...byCause.values()].slice(0, MOST_CAUSES).map((alike) => {
    const [first] = alike;
    const names = alike.map(({ account }) => account);
    const { message: own = `exit code ${first?.exitCode ?? 1}`, hint = '' } = first?.error ?? {};
    const message = alike.length > 1 && isBusy(first?.error) ? BUSY : own;
    const next = hint === '' ? '' : `\n  next: ${toSafeLine(nameAccountsIn(hint, names))}`;
    return `${listNames(names)}: ${toSafeLine(message)}${next}`;
  });
  const more = byCause.size - lines.length;
  return [...lines, ...(more > 0 ? [`and ${formatCountOf(more, 'more cause')}`] : [])].join('\n');
}

/** Whether another run had the account. */
export function isBusy(error: ReportedError | undefined): boolean {
  return error?.code === 'state_locked';
}
