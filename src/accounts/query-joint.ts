import type { AccountData } from '../model/account.ts';
import {
  type AccountsProofs,
  type AccountsQueryOptions,
  type AccountsQueryResult,
  type AccountsStreamOptions,
  type LeftOut,
  queryAccounts,
  streamAccounts,
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
  asked: AskedAccounts,
  sql: string,
  options: Omit<AccountsQueryOptions, keyof AccountsProofs>,
): Promise<AccountsQueryResult> {
  return queryAccounts(findAsked(asked), sql, { ...options, ...proofsOf(asked) });
}

/** The same with rows that are taken as they are read. */
export async function streamJoint(
  asked: AskedAccounts,
  sql: string,
  options: Omit<AccountsStreamOptions, keyof AccountsProofs>,
): Promise<LeftOut> {
  return streamAccounts(findAsked(asked), sql, { ...options, ...proofsOf(asked) });
}

function findAsked({ names, data }: AskedAccounts): readonly AccountData[] {
  refuseUnknown(names, data, 'cannot query all of these accounts');
  return data.filter(({ account }) => names.includes(account));
}

function proofsOf({ data }: AskedAccounts): AccountsProofs {
  return {
    prove: (session, accounts) => refuseForeign(session, accounts, data),
    proveAbsent: refuseLost,
  };
}
