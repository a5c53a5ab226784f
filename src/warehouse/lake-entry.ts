import { join } from 'node:path';
import { z } from 'zod';
import type { SqlSession } from '../model/sql.ts';

/** The entry of `_sluice.meta` in `lake.duckdb` that says where the rows of the views are. */
export const LAKE_ENTRY = 'lake';
/** Beside the tables' folders: a pattern over one of those must never find what was current before. */
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
  /** Every file there must be: a pattern would not miss one that is gone. */
  files: z.array(
    z.object({
      path: z.string(),
      rows: z.int(),
      bytes: z.int(),
      /** Undefined in what earlier releases wrote; the manifest has it. */
      fingerprint: z.string().optional(),
    }),
  ),
  hashes: z.string().optional(),
});

/** What `lake.duckdb` says of a table: enough to read its rows back, and to prove them, wherever the lake lies. */
export type CatalogTable = z.infer<typeof tableSchema>;

/** What an open `lake.duckdb`, or a copy of its state, says of the lake's tables. */
export async function readLakeEntry(session: SqlSession): Promise<readonly CatalogTable[]> {
  const [entry] = await session.all('SELECT value FROM _sluice.meta WHERE key = $1', [LAKE_ENTRY]);
  return z.array(tableSchema).parse(JSON.parse(String(entry?.['value'])));
}

/** A generation that readers may see. */
export function generationFolder(lake: string, table: string, generation: string): string {
  return join(lake, GENERATIONS, table, generation);
}
