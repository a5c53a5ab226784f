import type { ColumnPlan } from '../schema/resolve-columns.ts';
import { quoteIdentifier } from './identifiers.ts';

/** Follows the type of a column whose texts are compressed with zstd. */
export const COMPRESSED = ' USING COMPRESSION zstd';

type Definition = Pick<ColumnPlan, 'name' | 'type' | 'compression'>;

/**
 * A column as a table of the file is made with it. Long texts are compressed: kept as they are, as the engine does in a
 * column that few rows fill, it reads a text of 4,096 bytes or more again for each row without a value that follows
 * it (DuckDB 1.5.5: gigabytes for one text of a megabyte).
 */
export function defineColumn(column: Definition): string {
  const { name, type } = column;
  const compression = isCompressed(column) ? COMPRESSED : '';
  return `${quoteIdentifier(name)} ${type === 'NULL' ? 'VARCHAR' : type}${compression}`;
}

/** Names of the columns that are made in another way than their types say. */
export function listCompressed(columns: readonly Definition[]): readonly string[] {
  return columns.filter(isCompressed).map(({ name }) => name);
}

function isCompressed({ type, compression }: Definition): boolean {
  return compression !== undefined && isTextType(type);
}

/** Whether the engine keeps the values of such a column as texts. */
export function isTextType(type: string | undefined): boolean {
  return type === 'VARCHAR' || type === 'JSON';
}
