import { assertNotAborted, toAbortError } from '../model/abort.ts';
import type { AccountData } from '../model/account.ts';
import { AbortedError, ConfigError } from '../model/errors.ts';
import type { QueryResult } from '../model/reports.ts';
import { listNames } from '../text/list-names.ts';
import { answerQuery, type QueryOptions } from './answer-query.ts';
import {
  ACCOUNTS_ALIAS,
  assertLakesAreWhole,
  attachAccounts,
  type AttachedAccount,
  findAccounts,
  findBrokenAccount,
  listAccountTables,
} from './attach-accounts.ts';
import { Database } from './database.ts';
import { MEMORY_FILE } from './database-options.ts';
import { quoteIdentifier } from './identifiers.ts';
import { interruptOnAbort } from './interrupt-on-abort.ts';
import { joinTables } from './join-tables.ts';
import { mayRead } from './lake-losses.ts';

/** The answer of a query over several accounts. */
export interface AccountsQueryResult extends QueryResult {
  /** Accounts that have published nothing yet, so that no row is theirs. */
  readonly leftOut: readonly string[];
}

/**
 * Runs one SELECT over the published files of several accounts, read-only and without access to any other file. Each
 * table is the union of those of all accounts, with `account` as its first column (`_account` where a table has a
 * column of that name), in `main` as in `_sluice`. One account alone is `acme.main.prompts`.
 *
 * @throws ConfigError `query_failed` (2) for bad SQL, or if nothing is published; StorageError (6) or LockedError (75)
 * naming the account whose file cannot be read; the signal's own error
 */
export async function queryAccounts(
  accounts: readonly AccountData[],
  sql: string,
  options: QueryOptions = {},
): Promise<AccountsQueryResult> {
  const { found, leftOut } = findAccounts(accounts);
  if (found.length === 0) {
    throw new ConfigError(
      accounts.length === 0
        ? 'there is no account to query'
        : `nothing is published yet of ${listNames(leftOut)}`,
      { code: 'query_failed', hint: 'Run `sluice sync` first.' },
    );
  }
  assertNotAborted(options.signal);
  const database = await openAccounts(found);
  try {
    await assertLakesAreWhole(database, found, (table) => mayRead(sql, table));
    return { ...(await answer(database, found, sql, options)), leftOut };
  } finally {
    await database.release();
  }
}

function openAccounts(accounts: readonly AttachedAccount[]): Promise<Database> {
  return Database.open({
    file: MEMORY_FILE,
    alias: ACCOUNTS_ALIAS,
    readOnly: true,
    isPublished: true,
    folders: [],
    views: accounts.flatMap(({ lake }) => lake ?? []),
    attachMore: (session) => attachAccounts(session, accounts),
  });
}

async function answer(
  database: Database,
  accounts: readonly AttachedAccount[],
  sql: string,
  options: QueryOptions,
): Promise<QueryResult> {
  const { signal } = options;
  try {
    await interruptOnAbort(database, signal, () => createViews(database, accounts, sql));
    return await answerQuery(database, sql, options, refuseToWrite);
  } catch (error) {
    if (signal?.aborted === true) throw toAbortError(signal);
    throw (await findBrokenAccount(accounts, error)) ?? error;
  }
}

function refuseToWrite({ onlyReads }: { readonly onlyReads: boolean }): Promise<void> {
  if (onlyReads) return Promise.resolve();
  // The views are in memory, and the engine has access to the files of lakes.
  throw new ConfigError('query over several accounts takes a SELECT, and this is another statement', {
    code: 'query_failed',
    hint: 'Write it as a SELECT; for anything else open the files read-only in a DuckDB program.',
  });
}

async function createViews(
  database: Database,
  accounts: readonly AttachedAccount[],
  sql: string,
): Promise<void> {
  await database.run('CREATE SCHEMA _sluice');
  for (const table of await listAccountTables(database, accounts)) {
    const view = `${table.schema}.${quoteIdentifier(table.name)}`;
    try {
      await database.run(`CREATE VIEW ${view} AS ${await joinTables(database, table)}`);
    } catch (error) {
      // What cannot be read of a table that is not asked for does not matter.
      if (error instanceof AbortedError || mayRead(sql, table.name)) throw error;
    }
  }
}
