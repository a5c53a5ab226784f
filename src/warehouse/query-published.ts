import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { assertNotAborted, toAbortError } from '../model/abort.ts';
import { BugError, ConfigError, LockedError, StorageError, type SyncError } from '../model/errors.ts';
import { LAKE_CATALOG, LAKE_MANIFEST } from '../model/lake.ts';
import type { OfflineSettings } from '../model/settings.ts';
import type { QueryResult } from '../model/reports.ts';
import { Database } from './database.ts';
import { isOutOfMemory } from './database-errors.ts';
import { findLakeLosses, mayRead } from './lake-losses.ts';

/**
 * Runs one SQL statement over the published file, read-only and without access to any other file.
 * Values come back as JSON-safe scalars; numbers a double cannot hold are text. The signal ends a statement
 * that is running.
 *
 * @throws ConfigError `query_failed` (2) for bad SQL or a missing file; the signal's own error.
 */
export async function queryPublished(
  path: string,
  sql: string,
  { maxRows = Infinity, signal }: { readonly maxRows?: number; readonly signal?: AbortSignal } = {},
): Promise<QueryResult> {
  const database = await openPublished(path, nameDatabase(path));
  const interrupt = () => {
    database.interrupt();
  };
  signal?.addEventListener('abort', interrupt, { once: true });
  try {
    assertNotAborted(signal);
    // The engine has no words for it.
    if (isBlank(sql)) {
      throw new ConfigError('query takes one SQL statement, this text has none', {
        code: 'query_failed',
        hint: 'For example: sluice query "FROM _sluice.runs".',
      });
    }
    const { count, onlyReads } = await database.inspect(sql);
    if (count !== 1) {
      throw new ConfigError(`query takes one SQL statement, this text has ${count}`, {
        code: 'query_failed',
        hint: 'Run them one by one.',
      });
    }
    // The engine may open the lake's files for its views, and would write there as well.
    if (!onlyReads && lakeOf(path) !== undefined) {
      throw new ConfigError('query over a lake takes a SELECT, and this is another statement', {
        code: 'query_failed',
        hint: 'Write it as a SELECT; for anything else open lake.duckdb read-only in a DuckDB program.',
      });
    }
    await assertLakeHas(database, path, sql);
    return await database.query(sql, maxRows);
  } catch (error) {
    if (signal?.aborted === true) throw toAbortError(signal);
    throw await explainFailure(database, error as SyncError);
  } finally {
    signal?.removeEventListener('abort', interrupt);
    await database.release();
  }
}

/** Refuses a query over tables of a lake that has not all of their rows: its views would give the others without a word. */
async function assertLakeHas(database: Database, path: string, sql: string): Promise<void> {
  const lake = lakeOf(path);
  const losses =
    lake === undefined ? [] : await findLakeLosses(database, lake, (table) => mayRead(sql, table));
  if (lake === undefined || losses.length === 0) return;
  throw new StorageError(
    `the lake ${lake} is not whole, and rows would be missing (${losses.map(({ text }) => text).join('; ')})`,
    {
      code: 'state_damaged',
      hint: '`sluice verify` says what repairs it. Should a sync have published at this moment, run the query again. Nothing was changed.',
      context: { path: lake },
    },
  );
}

/** Opens a file for reading; that of a lake with the lake, whose files its views are made of. */
export async function openForReading(
  file: string,
  folders: readonly string[],
  alias?: string,
): Promise<Database> {
  return Database.open({ file, readOnly: true, isPublished: true, folders, views: lakeOf(file), alias });
}

/**
 * What a DuckDB program calls the file at a path, so that `warehouse.main.prompts` means the same here; undefined
 * for the one name that the engine keeps for itself.
 */
export function nameDatabase(path: string): string | undefined {
  const name = basename(path)
    .split('.')
    .find((part) => part !== '');
  if (name === undefined || name.toLowerCase() === 'memory') return undefined;
  return /^(?:main|temp|system)$/i.test(name) ? `${name}_db` : name;
}

/** The folder of the lake that a file holds the views of; undefined for any other file. */
export function lakeOf(file: string): string | undefined {
  const folder = dirname(resolve(file));
  return basename(file) === LAKE_CATALOG && existsSync(join(folder, LAKE_MANIFEST)) ? folder : undefined;
}

/** Opens the published file as any reader would: it blocks nobody and sees one state. */
export async function openPublished(path: string, alias?: string): Promise<Database> {
  if (!existsSync(path)) {
    throw new ConfigError(`there is no published file at ${path} yet`, {
      code: 'query_failed',
      hint: 'Run `sluice sync` first.',
      context: { path },
    });
  }
  try {
    return await openForReading(path, [], alias);
  } catch (error) {
    if (error instanceof StorageError && error.code === 'state_damaged')
      throw describeUnreadable(path, error);
    if (!(error instanceof LockedError)) throw error;
    throw new LockedError(error.message, {
      code: 'state_locked',
      hint: 'That program has it open for writing; open it read-only there (in Python: duckdb.connect(path, read_only=True)).',
      context: { path },
      cause: error,
    });
  }
}

/** The same for commands that read what Sluice wrote into it; refuses a file of another program. */
export async function openOwnPublished(path: string): Promise<Database> {
  const database = await openPublished(path);
  const tables = await database.all(
    `SELECT 1 FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = '_sluice' AND table_name = 'checkpoints'`,
  );
  if (tables.length > 0) return database;
  await database.release();
  throw new ConfigError(`${path} was not written by Sluice`, {
    code: 'publish_refused',
    hint: 'Name another file as destination.duckdb, or move this one away.',
    context: { path },
  });
}

/** Reads from the published file, which a run that has the work file leaves alone. */
export async function withPublished<T>(
  { duckdbPath }: Pick<OfflineSettings, 'duckdbPath'>,
  read: (database: Database) => Promise<T>,
): Promise<T> {
  const database = await openOwnPublished(duckdbPath);
  try {
    return await read(database);
  } finally {
    await database.release();
  }
}

function describeUnreadable(path: string, error: StorageError): ConfigError {
  return new ConfigError(`${path} is no DuckDB file that this version can read`, {
    code: 'query_failed',
    hint: 'If Sluice wrote it, run `sluice sync`: it publishes the file again from the state folder, or says what to do first. If not, name another file as destination.duckdb.',
    context: { path },
    cause: error,
  });
}

async function explainFailure(database: Database, error: SyncError): Promise<SyncError> {
  const cause = error.cause instanceof Error ? error.cause.message : error.message;
  if (isOutOfMemory(error)) {
    return new StorageError(
      `the query needs more memory than it may have: ${cause.split('\n', 1)[0] ?? ''}`,
      {
        code: 'storage_failed',
        hint: 'A query of Sluice uses no disk. Ask for less, give the process more memory, or open the file read-only in a DuckDB program.',
        cause: error,
      },
    );
  }
  if (!(error instanceof BugError)) return error;
  const tables = await database
    .all(
      `SELECT DISTINCT table_name FROM duckdb_columns() WHERE database_name = current_database() AND schema_name = 'main' ORDER BY 1`,
    )
    .catch(() => []);
  return new ConfigError(`the query failed: ${cause}`, {
    code: 'query_failed',
    hint: `Tables: ${tables.map((row) => String(row['table_name'])).join(', ') || 'none yet'}; run details are in schema _sluice (runs, stream_runs, …).`,
    cause: error,
  });
}

/** Whether a text holds nothing but comments, white space and semicolons. */
function isBlank(sql: string): boolean {
  return /^(?:[\s;]|--[^\n]*|\/\*[\s\S]*?\*\/)*$/.test(sql);
}
