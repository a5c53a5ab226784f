import { join } from 'node:path';
import { z } from 'zod';
import type { SqlSession } from '../model/sql.ts';

/** The entry of `_sluice.meta` in `lake.duckdb` that describes the files behind the views. */
export const LAKE_ENTRY = 'lake';
/** Outside the tables' folders: a pattern over a table's folder must never match older generations. */
export const GENERATIONS = '_generations';

const tableSchema = z.object({
  table: z.string(),
  generation: z.string(),
  columns: z.array(
    z.object({ name: z.string(), type: z.string(), storedAs: z.string(), fieldId: z.int().optional() }),
  ),
  partitionBy: z.array(
    z.object({
      folder: z.string(),
      column: z.string(),
      transform: z.enum(['identity', 'year', 'month', 'day']),
      type: z.string(),
    }),
  ),
  /** All files that must exist: a pattern would not notice a missing one. */
  files: z.array(
    z.object({
      path: z.string(),
      rows: z.int(),
      bytes: z.int(),
      /** Undefined in files of earlier releases; the manifest has it. */
      fingerprint: z.string().optional(),
      crc32: z.int().optional(),
    }),
  ),
  hashes: z.string().optional(),
});

/** What `lake.duckdb` stores about a table: enough to read and check its rows, wherever the lake is. */
export type CatalogTable = z.infer<typeof tableSchema>;

/**
 * Reads the tables of a lake from an open `lake.duckdb` or a copy of its state.
 *
 * @param prefix what comes before the schema in SQL, if the file is not the current database: `"acme".`
 */
export async function readLakeEntry(session: SqlSession, prefix = ''): Promise<readonly CatalogTable[]> {
  const [entry] = await session.all(`SELECT value FROM ${prefix}_sluice.meta WHERE key = $1`, [LAKE_ENTRY]);
  return z.array(tableSchema).parse(JSON.parse(String(entry?.['value'])));
}

/** Folder of a finished generation. */
export function generationFolder(lake: string, table: string, generation: string): string {
  return join(lake, GENERATIONS, table, generation);
}
