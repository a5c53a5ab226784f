import { statSync } from 'node:fs';
import type { AccountData } from '../model/account.ts';
import { BugError, LockedError, StorageError, SyncError } from '../model/errors.ts';
import type { SqlSession } from '../model/sql.ts';
import { checkReadable } from './check-readable.ts';
import type { Database } from './database.ts';
import { isOutOfMemory, wrapDatabaseError } from './database-errors.ts';
import { listDerivedViews } from './derived-views.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';
import { groupParts, type PartColumn, type TableParts } from './join-tables.ts';
import { findLakeLosses, type LossSearch } from './lake-losses.ts';
import { lakeOf, openForReading } from './query-published.ts';

/** Alias of the database that the accounts' files are attached to. No account can have this name. */
export const ACCOUNTS_ALIAS = '_accounts';

// Names of the engine's own databases and schemas: `main.prompts` must remain unambiguous.
const RESERVED = ['main', 'temp', 'system', 'memory', 'information_schema', 'pg_catalog'];

/** A file of an account, and what it is called in SQL. */
export interface AttachedAccount {
  readonly account: string;
  readonly file: string;
  /** The lake whose files the views of `file` need; undefined if the file has the rows itself. */
  readonly lake: string | undefined;
  /** What comes before the schema in SQL: `"acme".` */
  readonly prefix: string;
  readonly stateDir: string | undefined;
}

/** Which accounts have a file, and which do not: they have published nothing yet, or the file is missing now. */
export interface FoundAccounts {
  readonly found: readonly AttachedAccount[];
  readonly absent: readonly AccountData[];
}

/**
 * Finds which accounts have a file. Each is attached under its own name; a name that the engine uses itself gets a
 * trailing underscore.
 *
 * @throws StorageError (6) naming an account for which it is unknown whether its file exists
 */
export function findAccounts(accounts: readonly AccountData[]): FoundAccounts {
  const taken = new Set([...RESERVED, ...accounts.map(({ account }) => account)]);
  const found: AttachedAccount[] = [];
  const absent: AccountData[] = [];
  // Their order in the config means nothing.
  const sorted = accounts.toSorted((a, b) => (a.account < b.account ? -1 : 1));
  for (const one of sorted) {
    const { account, readersFile: file, stateDir } = one;
    if (!isThere(one)) {
      absent.push(one);
      continue;
    }
    let alias = account;
    if (RESERVED.includes(account)) while (taken.has(alias)) alias = `${alias}_`;
    taken.add(alias);
    found.push({ account, file, lake: lakeOf(file), prefix: `${quoteIdentifier(alias)}.`, stateDir });
  }
  return { found, absent };
}

/** A path that may not be read can still have a file. */
function isThere({ account, readersFile: path }: AccountData): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOTDIR') return false;
    throw new StorageError(`account ${account}: ${path} cannot be read: ${(cause as Error).message}`, {
      code: 'state_damaged',
      hint: 'Its rows would be missing. Fix the permissions or the disk, and run again; nothing was changed.',
      context: { path },
      cause,
    });
  }
}

/** Attaches the files of accounts read-only. Throws an error that names the account and the file. */
export async function attachAccounts(
  session: SqlSession,
  accounts: readonly AttachedAccount[],
): Promise<void> {
  for (const account of accounts) {
    const alias = account.prefix.slice(0, -1);
    try {
      await session.run(`ATTACH ${quoteLiteral(account.file)} AS ${alias} (READ_ONLY)`);
    } catch (thrown) {
      const cause = thrown instanceof SyncError ? thrown.cause : thrown;
      throw describeAccountError(account, wrapDatabaseError(cause ?? thrown, account.file, true));
    }
  }
}

/** The tables of attached files without the views of them, those of `main` before the system tables. */
export async function listAccountTables(
  session: SqlSession,
  accounts: readonly AttachedAccount[],
): Promise<readonly TableParts[]> {
  const derived = new Map<string, ReadonlySet<string>>();
  for (const { prefix } of accounts) derived.set(prefix, await listDerivedViews(session, prefix));
  return listAccountParts(session, accounts, ({ prefix }, name) => derived.get(prefix)?.has(name) !== true);
}

/** The same with the views. */
export async function listAccountParts(
  session: SqlSession,
  accounts: readonly AttachedAccount[],
  isWanted: (account: AttachedAccount, name: string) => boolean = () => true,
): Promise<readonly TableParts[]> {
  // The columns of a table as one text: most tables of hundreds of accounts are the same.
  const rows = await session.all(
    `SELECT database_name, schema_name, table_name, to_json(list([column_name, data_type] ORDER BY column_index))::VARCHAR AS columns
       FROM duckdb_columns() WHERE NOT internal AND schema_name IN ('main', '_sluice')
       GROUP BY ALL ORDER BY schema_name DESC, table_name`,
  );
  const byAccount = Map.groupBy(rows, (row) => `${quoteIdentifier(String(row['database_name']))}.`);
  const known = new Map<string, readonly PartColumn[]>();
  const readColumns = (text: string) => {
    const columns = known.get(text) ?? toColumns(text);
    known.set(text, columns);
    return columns;
  };
  const tables = accounts.flatMap((one) =>
    (byAccount.get(one.prefix) ?? []).flatMap((row) => {
      const [schema, name] = [String(row['schema_name']), String(row['table_name'])];
      if (!isWanted(one, `${schema}.${name}`)) return [];
      const from = `${one.prefix}${quoteIdentifier(schema)}.${quoteIdentifier(name)}`;
      return [{ account: one.account, schema, name, from, columns: readColumns(String(row['columns'])) }];
    }),
  );
  return groupParts(tables);
}

function toColumns(text: string): readonly PartColumn[] {
  return (JSON.parse(text) as readonly (readonly [string, string])[]).map(([name, type]) => ({ name, type }));
}

/**
 * Rejects lakes with missing rows: their views would give the remaining rows without an error.
 *
 * @throws StorageError naming the account
 */
export async function assertLakesAreWhole(
  database: Database,
  accounts: readonly AttachedAccount[],
  search: LossSearch = {},
): Promise<void> {
  for (const { account, file, lake, prefix } of accounts) {
    if (lake === undefined) continue;
    const losses = await findLakeLosses(database, lake, { ...search, prefix });
    if (losses.length === 0) continue;
    const what = losses.map(({ text }) => text).join('; ');
    throw new StorageError(
      `account ${account}: the lake ${lake} is incomplete or damaged, so rows would be missing or wrong (${what})`,
      {
        code: 'state_damaged',
        hint: '`sluice verify` shows how to repair it. If a sync was publishing at that moment, run the command again. Nothing was changed.',
        context: { path: file },
      },
    );
  }
}

/**
 * The error of an account whose file cannot be read, given one for a statement over all of them: the engine does not
 * say which file it was. Undefined if all can be read.
 */
export async function findBrokenAccount(
  accounts: readonly AttachedAccount[],
  failure: unknown,
): Promise<SyncError | undefined> {
  const isOfEngine = failure instanceof StorageError && failure.cause instanceof Error;
  if (!isOfEngine || isOutOfMemory(failure)) return undefined;
  for (const account of accounts) {
    const broken = await tryReading(account);
    if (broken !== undefined) return describeAccountError(account, broken);
  }
  return undefined;
}

async function tryReading({ file, lake }: AttachedAccount): Promise<SyncError | undefined> {
  try {
    const database = await openForReading(file, []);
    try {
      await checkReadable(database);
      if (lake !== undefined) await readViews(database);
    } finally {
      await database.release();
    }
    return undefined;
  } catch (error) {
    if (error instanceof SyncError) return error;
    throw error;
  }
}

async function readViews(session: SqlSession): Promise<void> {
  const views = await session.all(
    `SELECT view_name FROM duckdb_views() WHERE database_name = current_database() AND schema_name = 'main' AND NOT internal`,
  );
  for (const { view_name: name } of views) {
    const view = `main.${quoteIdentifier(String(name))}`;
    await session.all(`SELECT bit_xor(hash("every value")) FROM ${view} AS "every value"`);
  }
}

/** The same error, with the account in it. */
function describeAccountError({ account, file }: AttachedAccount, error: SyncError): SyncError {
  const message = `account ${account}: ${error.message}`;
  const options = { code: error.code, hint: error.hint, context: { path: file }, cause: error };
  if (error instanceof LockedError) return new LockedError(message, options);
  if (error instanceof StorageError) return new StorageError(message, options);
  return error instanceof BugError ? new BugError(message, options) : error;
}
