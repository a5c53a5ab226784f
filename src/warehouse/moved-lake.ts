import { resolve } from 'node:path';
import type { Database } from './database.ts';
import { quoteLiteral } from './identifiers.ts';

/** What a moved or copied lake is, after the words that name it. */
export const MOVED = 'its views look for their files in a different folder: the lake was moved or copied';
export const MOVED_FIX = 'sluice sync writes the views for this folder; fresh streams cost no request.';

/** Whether the views of an open `lake.duckdb` read files outside its lake: their paths are absolute. */
export async function isMoved(database: Database, lake: string): Promise<boolean> {
  const views = await database
    .all(
      "SELECT sql FROM duckdb_views() WHERE database_name = current_database() AND schema_name = 'main' AND NOT internal",
    )
    .catch(() => []);
  // Without its quotes: the folder is the start of a path.
  const folder = quoteLiteral(resolve(lake)).slice(1, -1);
  return views.some(({ sql }) => String(sql).includes('read_parquet') && !String(sql).includes(folder));
}
