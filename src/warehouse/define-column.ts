import type { ColumnPlan } from '../schema/resolve-columns.ts';
import { quoteIdentifier } from './identifiers.ts';

/** A column as a table of the file is made with it. */
export function defineColumn({
  name,
  type,
  compression,
}: Pick<ColumnPlan, 'name' | 'type' | 'compression'>): string {
  const suffix = compression !== undefined && type === 'JSON' ? ` USING COMPRESSION ${compression}` : '';
  return `${quoteIdentifier(name)} ${type === 'NULL' ? 'VARCHAR' : type}${suffix}`;
}
