import type { ColumnPlan } from '../schema/resolve-columns.ts';
import { quoteIdentifier } from './identifiers.ts';

/** A column as a table of the file is made with it. */
export function defineColumn({
  name,
  type,
  compression,
}: Pick<ColumnPlan, 'name' | 'type' | 'compression'>): string {
  const isText = type === 'VARCHAR' || type === 'JSON';
  const suffix = isText && compression !== undefined ? ` USING COMPRESSION ${compression}` : '';
  return `${quoteIdentifier(name)} ${type === 'NULL' ? 'VARCHAR' : type}${suffix}`;
}
