import type { DuckDBConnection } from '@duckdb/node-api';
import { wrapDatabaseError } from './database-errors.ts';

/**
 * Runs a query and passes on the columns of its result, in chunks as they are computed. Any other statement on the
 * connection, even a setting, ends the result without an error: a caller that must have all of it counts.
 *
 * @param follow called with each step that runs
 */
export async function* streamColumns(
  connection: DuckDBConnection,
  sql: string,
  file: string,
  follow: (running: Promise<unknown>) => void,
): AsyncGenerator<readonly (readonly unknown[])[]> {
  const take = async <T>(running: Promise<T>): Promise<T> => {
    follow(running);
    return running.catch((thrown: unknown) => {
      throw wrapDatabaseError(thrown, file);
    });
  };
  const result = await take(connection.stream(sql));
  for (;;) {
    const chunk = await take(result.fetchChunk());
    if (chunk === null || chunk.rowCount === 0) return;
    yield chunk.getColumns();
  }
}
