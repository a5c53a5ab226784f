import { statSync } from 'node:fs';
import { join } from 'node:path';
import { formatCount, formatCountOf } from '../model/format-count.ts';
import type { Database } from './database.ts';
import { quoteIdentifier } from './identifiers.ts';
import { type CatalogTable, generationFolder, LAKE_ENTRY, readLakeEntry } from './lake-entry.ts';

/** A table of a lake that has not the rows that were published. */
export interface LakeLoss {
  readonly table: string;
  /** A sentence that begins with the table. */
  readonly text: string;
}

/**
 * What the views of an open `lake.duckdb` would give too few or too many rows for, table by table: files that are
 * gone or of another size, and counts that are not those that were published. A view itself says nothing of it.
 *
 * @param isWanted whether to look at a table; each costs a look at all of its files
 */
export async function findLakeLosses(
  database: Database,
  lake: string,
  isWanted: (table: string) => boolean = () => true,
): Promise<readonly LakeLoss[]> {
  // What somebody else put under that name has no rows of ours to miss.
  if ((await database.count('SELECT count(*) FROM _sluice.meta WHERE key = $1', [LAKE_ENTRY])) === 0)
    return [];
  const losses: LakeLoss[] = [];
  for (const table of await readLakeEntry(database)) {
    const loss = isWanted(table.table) ? await findLoss(database, lake, table) : undefined;
    if (loss !== undefined) losses.push({ table: table.table, text: loss });
  }
  return losses;
}

/** Whether an SQL text may read a table: it has the table's name as a word, or makes up names of its own. */
export function mayRead(sql: string, table: string): boolean {
  const name = table.toLowerCase().replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`(?<!\\w)${name}(?!\\w)|\\bquery(?:_table)?"?\\s*\\(`).test(sql.toLowerCase());
}

async function findLoss(
  database: Database,
  lake: string,
  { table, generation, files }: CatalogTable,
): Promise<string | undefined> {
  const folder = generationFolder(lake, table, generation);
  const wrong = files.filter(({ path, bytes }) => sizeOf(join(folder, path)) !== bytes);
  const [first] = wrong;
  if (first !== undefined) {
    const more = wrong.length === 1 ? '' : ` and ${formatCountOf(wrong.length - 1, 'more file')}`;
    return `${table}: ${join(folder, first.path)}${more} missing or of another size`;
  }
  const wanted = files.reduce((sum, { rows }) => sum + rows, 0);
  const held = await database
    .count(`SELECT count(*) FROM main.${quoteIdentifier(table)}`)
    .catch(() => undefined);
  if (held === undefined) return `${table}: its files in ${folder} cannot be read`;
  if (held === wanted) return undefined;
  return `${table}: ${formatCountOf(held, 'row')} in ${folder} instead of ${formatCount(wanted)}`;
}

function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}
