import type { AskedAccounts } from '../../accounts/query-joint.ts';
import type { QueryResult } from '../../model/reports.ts';
import type { QueryOptions, StreamOptions } from '../../warehouse/answer-query.ts';
import type { AccountsQueryResult, LeftOut } from '../../warehouse/query-accounts.ts';

/** The functions of Sluice that run SQL over what is published. */
export interface QueryEngine {
  queryPublished(path: string, sql: string, options: QueryOptions): Promise<QueryResult>;
  /** The same with rows that are taken as they are read: memory does not grow with them. */
  streamPublished(path: string, sql: string, options: StreamOptions): Promise<void>;
  /** Runs SQL over the published files of several accounts; `account` is a column of each table. */
  queryAccounts(
    accounts: AskedAccounts,
    sql: string,
    options: Omit<QueryOptions, 'onlySelects'>,
  ): Promise<AccountsQueryResult>;
  streamAccounts(
    accounts: AskedAccounts,
    sql: string,
    options: Omit<StreamOptions, 'onlySelects'>,
  ): Promise<LeftOut>;
}
