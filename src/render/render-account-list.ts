import type { ReportedError } from '../model/run-report.ts';
import { listNames } from '../text/list-names.ts';
import { describeAccountErrors } from './describe-account-errors.ts';
import { drawFittingTable } from './fitting-table.ts';
import { toSafeCell } from './safe-text.ts';
import { wrapText } from './wrap-text.ts';

/** An account and its places. */
interface ListedAccount {
  readonly account: string;
  readonly inConfig: boolean;
  readonly places: readonly { readonly kind: string; readonly path: string }[];
  /** What is wrong in its config. */
  readonly error?: ReportedError;
}

/** The accounts for people, those that the config no longer has at the end. */
export function renderAccountList(accounts: readonly ListedAccount[], columns: number | undefined): string {
  const table = drawFittingTable(
    [{ title: 'ACCOUNT' }, { title: 'IN CONFIG' }, { title: 'PLACES' }],
    accounts.map(({ account, inConfig, places }) => [
      account,
      inConfig ? 'yes' : 'no',
      toSafeCell(places.map(({ path }) => path).join(', ')),
    ]),
    columns,
  );
  const left = accounts.filter(({ inConfig }) => !inConfig).map(({ account }) => account);
  const failed = accounts.flatMap(({ account, error }) =>
    error === undefined ? [] : { account, error, exitCode: error.exitCode },
  );
  const broken = wrapText(describeAccountErrors(failed), columns);
  const advice = `No longer in the config: ${listNames(left)}. Their data stays until you delete it: sluice accounts remove ${left[0] ?? ''} --data`;
  return [table, broken, ...(left.length === 0 ? [] : [wrapText(advice, columns)])]
    .filter((part) => part !== '')
    .join('\n\n');
}
