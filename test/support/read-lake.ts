import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { PlainRow } from './published.ts';

/** A reader of its own, as a user's program would be one. */
export interface LakeReader {
  query(sql: string): Promise<readonly PlainRow[]>;
  close(): void;
}

/** Opens an engine that reads files, and for `catalog` the views of a lake. */
export async function openLakeReader(catalog?: string): Promise<LakeReader> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
  const connection = await instance.connect();
  await connection.run(`SET TimeZone = 'UTC'`);
  if (catalog !== undefined) {
    await connection.run(`ATTACH '${catalog}' AS lake (READ_ONLY)`);
    await connection.run('USE lake');
  }
  return {
    query: async (sql) => (await connection.runAndReadAll(sql)).getRowObjectsJson(),
    close() {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

/** Runs one statement over files. */
export async function queryFiles(sql: string, catalog?: string): Promise<readonly PlainRow[]> {
  const reader = await openLakeReader(catalog);
  try {
    return await reader.query(sql);
  } finally {
    reader.close();
  }
}

/** The pattern that any reader may read a table by. */
export function globOf(lake: string, table = 'items'): string {
  return `'${join(lake, table, 'current')}/**/*.parquet'`;
}

export interface ReadManifest {
  readonly commit: string;
  readonly tables: readonly {
    readonly table: string;
    readonly generation: string;
    readonly rows: number;
    readonly columns: readonly {
      readonly name: string;
      readonly fieldId?: number;
      readonly storedAs: string;
    }[];
    readonly files: readonly {
      readonly path: string;
      readonly rows: number;
      readonly modifiedAtMs: number;
      readonly partition: readonly (string | null)[];
      readonly range: Readonly<Record<string, readonly [string, string]>>;
    }[];
    readonly retired: readonly { readonly generation: string }[];
  }[];
}

export function readLakeManifest(lake: string): ReadManifest {
  return JSON.parse(readFileSync(join(lake, 'manifest.json'), 'utf8')) as ReadManifest;
}

/** What the manifest says of one table. */
export function lakeTableOf(lake: string, table = 'items'): ReadManifest['tables'][number] {
  const found = readLakeManifest(lake).tables.find((one) => one.table === table);
  if (found === undefined) throw new Error(`the lake has no ${table}`);
  return found;
}
