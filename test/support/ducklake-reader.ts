import { DuckDBInstance } from '@duckdb/node-api';
import { quoteLiteral } from '../../src/warehouse/identifiers.ts';
import { describeSecret, findExtensions, type ObjectStore } from './lake-servers.ts';

/** An engine of its own that has a lake open, as any program would. */
export interface LakeReader {
  run(sql: string): Promise<void>;
  rows(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** The column `value` of a query. */
  values(sql: string): Promise<readonly number[]>;
  close(): void;
}

/**
 * Opens a lake as `lake`.
 *
 * @param source `sqlite:` and a file, or `postgres:` and a URL
 * @param options of ATTACH; empty to write
 */
export function openLakeReader(
  source: string,
  options = 'READ_ONLY',
  store?: ObjectStore,
): Promise<LakeReader> {
  const given = options === '' ? '' : ` (${options})`;
  return openReader(
    ['ducklake', 'sqlite_scanner', 'postgres_scanner', 'httpfs'],
    [
      ...(store === undefined ? [] : [describeSecret(store)]),
      `ATTACH ${quoteLiteral(`ducklake:${source}`)} AS lake${given}`,
    ],
  );
}

/** Opens an engine with extensions, and runs statements that make its `lake`. */
export async function openReader(
  extensions: readonly string[],
  statements: readonly string[],
): Promise<LakeReader> {
  const instance = await DuckDBInstance.create(':memory:', {
    extension_directory: findExtensions() ?? '',
    autoinstall_known_extensions: 'false',
    // The product checks their signatures; another check takes half a CPU second each time.
    allow_unsigned_extensions: 'true',
    threads: '1',
  });
  const connection = await instance.connect();
  const close = () => {
    connection.closeSync();
    instance.closeSync();
  };
  const rows = async (sql: string) => (await connection.runAndReadAll(sql)).getRowObjectsJS();
  try {
    for (const name of extensions) await connection.run(`LOAD ${name}`);
    for (const statement of statements) await connection.run(statement);
  } catch (error) {
    close();
    throw error;
  }
  return {
    run: async (sql) => void (await connection.run(sql)),
    rows,
    values: async (sql) => (await rows(sql)).map(({ value }) => Number(value)),
    close,
  };
}
