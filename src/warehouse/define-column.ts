import type { ColumnPlan } from '../schema/resolve-columns.ts';
import { quoteIdentifier } from './identifiers.ts';

/**
 * A column as a table of the file is made with it. Texts of 4,096 bytes and more are compressed: kept as they are, as
 * the engine does in a column that few rows fill, it reads such a text again for each row without a value that follows
 * it (DuckDB 1.5.5: gigabytes for one text of a megabyte).
 */
export function defineColumn({ name, type, isLong }: Pick<ColumnPlan, 'name' | 'type' | 'isLong'>): string {
  const compression = isLong === true && type === 'VARCHAR' ? ' USING COMPRESSION zstd' : '';
  return `${quoteIdentifier(name)} ${type === 'NULL' ? 'VARCHAR' : type}${compression}`;
}

/** Names of the columns that are made in another way than their types say. */
export function listLong(columns: readonly ColumnPlan[]): readonly string[] {
  return columns.filter(({ isLong }) => isLong === true).map(({ name }) => name);
}
