import type { ColumnPlan } from '../schema/resolve-columns.ts';
import { copyTable, listCompressed } from './copy-table.ts';
import type { Database } from './database.ts';
import { isTextType } from './define-column.ts';
import { historyOf, readColumns } from './evolve-table.ts';
import { quoteIdentifier } from './identifiers.ts';
import { INCOMING } from './incoming.ts';

/** Bytes. The engine reads 2,048 rows at once: as many copies of such a text take half the memory it has at least. */
const LONG_TEXT = 16_384;

/**
 * Compresses the columns of a table, and of its history, that are about to get a long text and that were made while
 * their texts were short: see `defineColumn`. Call outside a transaction, before rowids are read. Each table is copied
 * once; its values stay what they are.
 */
export async function compressTexts(
  database: Database,
  table: string,
  columns: readonly ColumnPlan[],
): Promise<void> {
  const long = await listLong(database, columns);
  if (long.length === 0) return;
  for (const name of [table, historyOf(table)]) {
    const held = await readColumns(database, name);
    const compressed = await listCompressed(database, name);
    const missing = long.filter((column) => isTextType(held.get(column)) && !compressed.has(column));
    if (missing.length > 0)
      await database.transaction(() =>
        copyTable(database, name, { compressed: new Set([...compressed, ...missing]) }),
      );
  }
}

/** The columns in which an incoming row has a long text. */
async function listLong(database: Database, columns: readonly ColumnPlan[]): Promise<readonly string[]> {
  const texts = columns.filter(({ type }) => isTextType(type)).map(({ name }) => name);
  if (texts.length === 0) return [];
  const longest = texts.map((name, at) => `max(strlen(${quoteIdentifier(name)}::VARCHAR)) AS "${at}"`);
  const [row] = await database.all(`SELECT ${longest.join(', ')} FROM ${INCOMING}`);
  return texts.filter((_, at) => Number(row?.[at] ?? 0) >= LONG_TEXT);
}
