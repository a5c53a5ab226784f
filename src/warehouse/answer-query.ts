import { assertNotAborted, toAbortError } from '../model/abort.ts';
import { BugError, ConfigError, StorageError, type SyncError } from '../model/errors.ts';
import type { TakeRows } from '../model/take-rows.ts';
import type { Database } from './database.ts';
import { isOutOfMemory } from './database-errors.ts';
import { interruptOnAbort } from './interrupt-on-abort.ts';

/** Further options of a query. */
export interface AskOptions {
  /** Rejects all statements but a SELECT, also where others could do no harm. Over lakes and accounts they always are. */
  readonly onlySelects?: boolean;
  readonly signal?: AbortSignal;
}

/** Options of a query whose rows come together. */
export interface QueryOptions extends AskOptions {
  readonly maxRows?: number;
}

/** Options of a query whose rows are taken as they are read. */
export interface StreamOptions extends AskOptions {
  readonly take: TakeRows;
}

/**
 * Runs one statement of a user and hands on its rows. An error can come after some of them.
 *
 * @param prepare called once it is known that the text is one statement; throws if it must not run
 * @throws ConfigError `query_failed` (2) for bad SQL; the signal's own error
 */
export async function answerQuery(
  database: Database,
  sql: string,
  { take, signal }: StreamOptions,
  prepare: (statement: { readonly onlyReads: boolean }) => Promise<void>,
): Promise<void> {
  try {
    await interruptOnAbort(database, signal, async () => {
      assertNotAborted(signal);
      // The engine has no error for it.
      if (isBlank(sql)) {
        throw new ConfigError('query needs one SQL statement, but the text has none', {
          code: 'query_failed',
          hint: 'For example: sluice query "FROM _sluice.runs".',
        });
      }
      const { count, onlyReads } = await database.inspect(sql);
      if (count !== 1) {
        throw new ConfigError(`query takes one SQL statement, but the text has ${count}`, {
          code: 'query_failed',
          hint: /\bPIVOT\b/i.test(sql)
            ? 'Run them one by one. PIVOT counts as two without IN: name its values, for example PIVOT runs ON status IN (complete, failed) USING count(*).'
            : 'Run them one by one.',
        });
      }
      await prepare({ onlyReads });
      for await (const portion of database.streamRows(sql)) {
        const wantsMore = await take(portion);
        assertNotAborted(signal);
        if (!wantsMore) return;
      }
    });
  } catch (error) {
    if (signal?.aborted === true) throw toAbortError(signal);
    throw await explainFailure(database, error as SyncError);
  }
}

async function explainFailure(database: Database, error: SyncError): Promise<SyncError> {
  const cause = error.cause instanceof Error ? error.cause.message : error.message;
  if (isOutOfMemory(error)) {
    return new StorageError(
      `the query needs more memory than is available: ${cause.split('\n', 1)[0] ?? ''}`,
      {
        code: 'storage_failed',
        hint: 'Queries in Sluice cannot spill to disk. Select less, give the process more memory, or open the file read-only in a DuckDB program.',
        cause: error,
      },
    );
  }
  // Of a path in the query: to the engine that is a failure of the disk.
  const isWrongPath = /IO Error: No files found/.test(cause);
  if (!(error instanceof BugError) && !isWrongPath) return error;
  if (cause.includes('read-only mode'))
    return new ConfigError('query only reads, and this statement writes', {
      code: 'query_failed',
      hint: 'Write it as a SELECT. The published file is replaced by each sync, so nothing written into it would last: keep tables of your own in another file, and ATTACH this one there.',
      cause: error,
    });
  if (cause.includes('has been disabled by configuration'))
    return new ConfigError(
      'query reads the published tables alone: it neither opens nor writes other files',
      {
        code: 'query_failed',
        hint: 'To keep the result, write what is printed to a file: sluice query --format csv "…" > result.csv. For queries over other files, open the published file read-only in a DuckDB program.',
        cause: error,
      },
    );
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

/** Whether a text has only comments, white space and semicolons. */
function isBlank(sql: string): boolean {
  return /^(?:[\s;]|--[^\n]*|\/\*[\s\S]*?\*\/)*$/.test(sql);
}
