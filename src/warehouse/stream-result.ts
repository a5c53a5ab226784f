import type { DuckDBConnection, DuckDBDataChunk, DuckDBResult } from '@duckdb/node-api';
import type { QueryResult } from '../model/reports.ts';
import { collectRows } from './collect-rows.ts';
import { createRowReader } from './query-cells.ts';

// `ResultReturnType.INVALID`: importing it would load the engine with this module.
const FAILED_RESULT = 0;

/** A query whose result is read as it is computed. */
export interface StreamedQuery {
  readonly connection: DuckDBConnection;
  readonly sql: string;
  /** Runs one step of it: its start, or the next rows. */
  readonly runStep: <T>(step: () => Promise<T>) => Promise<T>;
}

/**
 * Runs a query and passes on the columns of its result, in chunks as they are computed. Any other statement on the
 * connection, even a setting, ends the result without an error: a caller that must have all of it counts.
 */
export async function* streamColumns(query: StreamedQuery): AsyncGenerator<readonly (readonly unknown[])[]> {
  const result = await start(query);
  for await (const chunk of readChunks(result, query)) yield chunk.getColumns();
}

/** The same for rows of JSON-safe scalars: one portion at least, without rows if the result has none. */
export async function* streamRows(query: StreamedQuery): AsyncGenerator<QueryResult> {
  const result = await start(query);
  const { columns, readRows } = await createRowReader(result);
  let isEmpty = true;
  for await (const chunk of readChunks(result, query)) {
    isEmpty = false;
    yield { columns, rows: readRows(chunk) };
  }
  if (isEmpty) yield { columns, rows: [] };
}

/** The first rows of a result, at most `maxRows`; of a long one, little more is computed. */
export async function readFirstRows(
  connection: DuckDBConnection,
  sql: string,
  maxRows: number,
): Promise<QueryResult> {
  const { take, collected } = collectRows(maxRows);
  for await (const portion of streamRows({ connection, sql, runStep: (step) => step() })) {
    if (!(await take(portion))) break;
  }
  return collected();
}

function start({ connection, sql, runStep }: StreamedQuery): Promise<DuckDBResult> {
  return runStep(() => connection.stream(sql));
}

async function* readChunks(
  result: DuckDBResult,
  { connection, sql, runStep }: StreamedQuery,
): AsyncGenerator<DuckDBDataChunk> {
  for (;;) {
    const chunk = await runStep(() => result.fetchChunk());
    if (chunk !== null && chunk.rowCount > 0) {
      yield chunk;
      continue;
    }
    // The library ends a result that failed halfway like one that is complete.
    if (Number(result.returnType) === FAILED_RESULT) await runStep(() => throwFailure(connection, sql));
    return;
  }
}

/** Throws why a result failed: the library does not say it, but running the query again without its rows does. */
async function throwFailure(connection: DuckDBConnection, sql: string): Promise<never> {
  try {
    await connection.run(`EXPLAIN ANALYZE ${sql}`);
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    // It ends with a part of the statement that was run here.
    throw new Error(message.replace(/\n+LINE \d+: [^]*$/, ''), { cause: thrown });
  }
  throw new Error('IO Error: a result ended early, and running the query again did not show why');
}
