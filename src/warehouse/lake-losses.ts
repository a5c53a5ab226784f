import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { formatCount, formatCountOf } from '../text/format-count.ts';
import type { Database } from './database.ts';
import { checksumFile } from './fingerprint-file.ts';
import { quoteIdentifier } from './identifiers.ts';
import { isMoved, MOVED, MOVED_FIX } from './moved-lake.ts';
import { type CatalogTable, generationFolder, LAKE_ENTRY, readLakeEntry } from './lake-entry.ts';

/** A table of a lake whose rows are not those that were published. */
export interface LakeLoss {
  readonly table: string;
  /** A sentence that starts with the table name. */
  readonly text: string;
}

/** How to look for losses. */
export interface LossSearch {
  /** Whether to check a table; each check looks at all its files. All tables when left out. */
  readonly isWanted?: (table: string) => boolean;
  /** Reads each file, and compares its bytes with their checksum: for who takes all rows elsewhere. */
  readonly readsBytes?: boolean;
  /** What comes before the schema in SQL, if the file is not the current database: `"acme".` */
  readonly prefix?: string;
}

/**
 * The tables for which the views of an open `lake.duckdb` would return wrong rows: files are missing or of the wrong
 * size, or counts differ from those published. The views themselves do not notice.
 */
export async function findLakeLosses(
  database: Database,
  lake: string,
  { isWanted, readsBytes = false, prefix = '' }: LossSearch = {},
): Promise<readonly LakeLoss[]> {
  // A folder of that name that is not ours has no rows to check.
  const entries = `SELECT count(*) FROM ${prefix}_sluice.meta WHERE key = $1`;
  if ((await database.count(entries, [LAKE_ENTRY])) === 0) return [];
  const losses: LakeLoss[] = [];
  for (const table of await readLakeEntry(database, prefix)) {
    if (isWanted?.(table.table) === false) continue;
    const loss =
      (await findLoss(database, lake, table, prefix)) ??
      (readsBytes ? await findDamage(lake, table) : undefined);
    if (loss !== undefined) losses.push({ table: table.table, text: loss });
  }
  return losses;
}

/**
 * Whether an SQL text may read a table: it contains its name, or that of a view of it, as a word, or builds names
 * dynamically. The health counts the rows of all tables.
 */
export function mayRead(sql: string, table: string): boolean {
  const name = table.toLowerCase().replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const words = `(?<!\\w)${name}(?:(?!\\w)|_latest|__)`;
  return new RegExp(`${words}|\\bhealth\\b|\\bquery(?:_table)?"?\\s*\\(`).test(sql.toLowerCase());
}

async function findLoss(
  database: Database,
  lake: string,
  { table, generation, files }: CatalogTable,
  prefix: string,
): Promise<string | undefined> {
  const folder = generationFolder(lake, table, generation);
  const wrong = findLostFiles(folder, files);
  const [first] = wrong;
  if (first !== undefined) {
    const more = wrong.length === 1 ? '' : ` and ${formatCountOf(wrong.length - 1, 'more file')}`;
    return `${table}: ${join(folder, first)}${more} missing or of the wrong size`;
  }
  const wanted = files.reduce((sum, { rows }) => sum + rows, 0);
  const held = await database
    .count(`SELECT count(*) FROM ${prefix}main.${quoteIdentifier(table)}`)
    .catch(() => undefined);
  if (held === undefined && prefix === '' && (await isMoved(database, lake)))
    return `${table}: ${MOVED}; ${MOVED_FIX.slice(0, -1)}`;
  if (held === undefined) return `${table}: its files in ${folder} cannot be read`;
  if (held === wanted) return undefined;
  return `${table}: ${formatCountOf(held, 'row')} in ${folder} instead of ${formatCount(wanted)}`;
}

async function findDamage(
  lake: string,
  { table, generation, files }: CatalogTable,
): Promise<string | undefined> {
  const path = await findDamagedFile(generationFolder(lake, table, generation), files);
  return path === undefined ? undefined : `${table}: ${path} is damaged: its bytes changed`;
}

/** The first file of a generation's folder that has other bytes than were written. */
export async function findDamagedFile(
  folder: string,
  files: readonly Pick<CatalogTable['files'][number], 'path' | 'crc32'>[],
): Promise<string | undefined> {
  for (const { path, crc32 } of files) {
    const file = join(folder, path);
    if (crc32 !== undefined && (await checksumFile(file)) !== crc32) return file;
  }
  return undefined;
}

/** Files of a generation's folder that are missing or of the wrong size, by their names alone: none is read. */
export function findLostFiles(
  folder: string,
  files: readonly Pick<CatalogTable['files'][number], 'path' | 'bytes'>[],
): readonly string[] {
  return files.filter(({ path, bytes }) => sizeOf(join(folder, path)) !== bytes).map(({ path }) => path);
}

/** Undefined also for what is not a file: a link may lead out of the lake, where its readers may not go. */
function sizeOf(path: string): number | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isFile() === true ? found.size : undefined;
}
