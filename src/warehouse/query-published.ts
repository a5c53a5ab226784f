import { existsSync } from 'node:fs';
import { BugError, ConfigError, LockedError, StorageError, type SyncError } from '../model/errors.ts';
import type { QueryResult } from '../model/reports.ts';
import { Database } from './database.ts';

/**
 * Runs one SQL statement over the published file, read-only and without access to any other file.
 * Values come back as JSON-safe scalars; numbers a double cannot hold are text.
 *
 * @throws ConfigError `query_failed` (2) for bad SQL or a missing file.
 */
export async function queryPublished(
  path: string,
  sql: string,
  { maxRows = Infinity }: { readonly maxRows?: number } = {},
): Promise<QueryResult> {
  const database = await openPublished(path);
  try {
    const statements = await database.countStatements(sql);
    if (statements === 1) return await database.query(sql, maxRows);
    throw new ConfigError(`query takes one SQL statement, this text has ${statements}`, {
      code: 'query_failed',
      hint: 'Run them one by one.',
    });
  } catch (error) {
    throw await explainFailure(database, error as SyncError);
  } finally {
    await database.release();
  }
}

/** Opens the published file as any reader would: it blocks nobody and sees one state. */
export async function openPublished(path: string): Promise<Database> {
  if (!existsSync(path)) {
    throw new ConfigError(`there is no published file at ${path} yet`, {
      code: 'query_failed',
      hint: 'Run `sluice sync` first.',
      context: { path },
    });
  }
  try {
    return await Database.open({ file: path, readOnly: true, folders: [] });
  } catch (error) {
    if (error instanceof StorageError) throw describeUnreadable(path, error);
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

function describeUnreadable(path: string, error: StorageError): ConfigError {
  return new ConfigError(`${path} is no DuckDB file that this version can read`, {
    code: 'query_failed',
    hint: "If it is not Sluice's, name another file as destination.duckdb; if it is, move it aside and run `sluice sync`, which publishes it again.",
    context: { path },
    cause: error,
  });
}

async function explainFailure(database: Database, error: SyncError): Promise<SyncError> {
  const cause = error.cause instanceof Error ? error.cause.message : error.message;
  if (!(error instanceof BugError)) return error;
  const tables = await database
    .all(
      `SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = 'main' ORDER BY 1`,
    )
    .catch(() => []);
  return new ConfigError(`the query failed: ${cause}`, {
    code: 'query_failed',
    hint: `Tables: ${tables.map((row) => String(row['table_name'])).join(', ') || 'none yet'}; run details are in schema _sluice (runs, stream_runs, …).`,
    cause: error,
  });
}
