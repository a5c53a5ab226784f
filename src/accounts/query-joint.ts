import type { AccountData } from '../model/account.ts';
import {
  type AccountsQueryOptions,
  type AccountsQueryResult,
  queryAccounts,
} from '../warehouse/query-accounts.ts';
import { refuseForeign, refuseLost } from './own-published.ts';
import { refuseUnknown } from './refuse-unknown.ts';

/** Accounts that a query is over. */
export interface AskedAccounts {
  readonly names: readonly string[];
  /** Where the data of accounts lies, where known; may contain accounts that are not queried. */
  readonly data: readonly AccountData[];
}

/**
 * Runs one SELECT over the published files of accounts. No account that has published is left out.
 *
 * @throws as `queryAccounts`; ConfigError (2), StorageError (6) and PublishError (2) naming the account whose rows
 * would be missing or wrong
 */
export async function queryJoint(
  { names, data }: AskedAccounts,
  sql: string,
  options: Omit<AccountsQueryOptions, 'prove' | 'proveAbsent'>,
): Promise<AccountsQueryResult> {
  refuseUnknown(names, data, 'cannot query all of these accounts');
  const asked = data.filter(({ account }) => names.includes(account));
  return queryAccounts(asked, sql, {
    ...options,
    prove: (session, accounts) => refuseForeign(session, accounts, data),
    proveAbsent: refuseLost,
  });
}
