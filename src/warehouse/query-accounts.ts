import { assertNotAborted, toAbortError } from '../model/abort.ts';
import type { AccountData } from '../model/account.ts';
import { AbortedError, ConfigError } from '../model/errors.ts';
import type { QueryResult } from '../model/reports.ts';
import type { TakeRows } from '../model/take-rows.ts';
import type { SqlSession } from '../model/sql.ts';
import { listNames } from '../text/list-names.ts';
import { assertSelects } from './assert-selects.ts';
import { answerQuery, type QueryOptions, type StreamOptions } from './answer-query.ts';
import {
  ACCOUNTS_ALIAS,
  assertLakesAreWhole,
  attachAccounts,
  type AttachedAccount,
  findAccounts,
  findBrokenAccount,
  listAccountParts,
} from './attach-accounts.ts';
import { collectRows } from './collect-rows.ts';
import { Database } from './database.ts';
import { MEMORY_FILE } from './database-options.ts';
import { quoteIdentifier } from './identifiers.ts';
import { interruptOnAbort } from './interrupt-on-abort.ts';
import { joinTables, type TableParts } from './join-tables.ts';
import { mayRead } from './lake-losses.ts';

const OVER_ACCOUNTS = {
  what: 'query over several accounts',
  instead: 'for anything else open the files read-only in a DuckDB program.',
};

/** What is proved before a query over several accounts reads anything. */
export interface AccountsProofs {
  /** Throws if an attached file must not be read. */
  readonly prove?: (session: SqlSession, accounts: readonly AttachedAccount[]) => Promise<void>;
  /** Throws if an account without a file has published. */
  readonly proveAbsent?: (absent: readonly AccountData[]) => void;
}

/** Options of a query over several accounts, and of one whose rows are taken as they are read. */
export interface AccountsQueryOptions extends QueryOptions, AccountsProofs {}
export interface AccountsStreamOptions extends StreamOptions, AccountsProofs {}

/** Accounts that are not part of an answer. */
export interface LeftOut {
  /** They have published nothing yet, so they have no rows. */
  readonly leftOut: readonly string[];
}

/** The answer of a query over several accounts. */
export interface AccountsQueryResult extends QueryResult, LeftOut {}

/**
 * Runs one SELECT over the published files of several accounts, read-only and without access to any other file. Each
 * table is the union of those of all accounts, with `account` as its first column (`_account` if a table has a
 * column of that name), in `main` as in `_sluice`. One account alone is `acme.main.prompts`.
 *
 * @throws ConfigError `query_failed` (2) for bad SQL, or if nothing is published; StorageError (6) or LockedError (75)
 * naming the account whose file cannot be read; the signal's own error
 */
export async function queryAccounts(
  accounts: readonly AccountData[],
  sql: string,
  { maxRows = Infinity, ...options }: AccountsQueryOptions = {},
): Promise<AccountsQueryResult> {
  const { take, collected } = collectRows(maxRows);
  const { leftOut } = await streamAccounts(accounts, sql, { ...options, take });
  return { ...collected(), leftOut };
}

/**
 * The same with rows that are taken as they are read: memory does not grow with them. Those before an error are
 * taken already.
 */
export async function streamAccounts(
  accounts: readonly AccountData[],
  sql: string,
  { prove, proveAbsent, ...options }: AccountsStreamOptions,
): Promise<LeftOut> {
  const { found, absent } = findAccounts(accounts);
  proveAbsent?.(absent);
  const leftOut = absent.map(({ account }) => account);
  if (found.length === 0) {
    throw new ConfigError(
      accounts.length === 0
        ? 'there is no account to query'
        : `nothing is published yet for ${listNames(leftOut)}`,
      {
        code: 'query_failed',
        hint: 'Run `sluice sync` first. `query` reads DuckDB files and lakes; what is published to Postgres or a lakehouse is read there.',
      },
    );
  }
  assertNotAborted(options.signal);
  const database = await openAccounts(found);
  try {
    await prove?.(database, found);
    await assertLakesAreWhole(database, found, { isWanted: (table) => mayRead(sql, table) });
    await answer(database, found, sql, options);
    return { leftOut };
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
  { take, ...options }: StreamOptions,
): Promise<void> {
  const { signal } = options;
  let isTaken = false;
  const follow: TakeRows = (portion) => {
    isTaken = true;
    return take(portion);
  };
  // The views are in memory, and the engine has access to the files of lakes.
  const run = () =>
    answerQuery(database, sql, { ...options, take: follow }, ({ onlyReads }) =>
      assertSelects(database, sql, { onlyReads, ...OVER_ACCOUNTS }),
    );
  try {
    const others = await interruptOnAbort(database, signal, () => prepareViews(database, accounts, sql));
    try {
      await run();
    } catch (error) {
      // Nobody gets the same rows twice.
      if (!(error instanceof ConfigError) || others.length === 0 || isTaken) throw error;
      // A name may be written in a way that was not recognised, and the message names all tables.
      await interruptOnAbort(database, signal, () => createViews(database, others, false));
      await run();
    }
  } catch (error) {
    if (signal?.aborted === true) throw toAbortError(signal);
    throw (await findBrokenAccount(accounts, error)) ?? error;
  }
}

/** Statements that list tables. */
const LISTS_TABLES = /\b(?:show|describe|information_schema|pragma\w*|(?:duckdb|pg|sqlite)_\w+)\b/i;

/**
 * Creates only the views that a statement may read, as each one reads the files of all accounts.
 *
 * @returns the tables that have no view yet
 */
async function prepareViews(
  database: Database,
  accounts: readonly AttachedAccount[],
  sql: string,
): Promise<readonly TableParts[]> {
  await database.run('CREATE SCHEMA _sluice');
  const tables = await listAccountParts(database, accounts);
  const asked = tables.filter(({ name }) => mayRead(sql, name));
  const others = tables.filter((table) => !asked.includes(table));
  await createViews(database, asked, true);
  if (!LISTS_TABLES.test(sql)) return others;
  await createViews(database, others, false);
  return [];
}

async function createViews(
  database: Database,
  tables: readonly TableParts[],
  isAskedFor: boolean,
): Promise<void> {
  for (const table of tables) {
    const view = `${table.schema}.${quoteIdentifier(table.name)}`;
    try {
      await database.run(`CREATE VIEW ${view} AS ${await joinTables(database, table)}`);
    } catch (error) {
      // Tables that are not asked for may be unreadable.
      if (isAskedFor || error instanceof AbortedError) throw error;
    }
  }
}
