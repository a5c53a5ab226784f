import type { ColumnPlan } from '../schema/resolve-columns.ts';
import { quoteIdentifier } from './identifiers.ts';

/** A column as a table is made with it. How it is compressed is left to the engine: a column keeps what is said here. */
export function defineColumn({ name, type }: Pick<ColumnPlan, 'name' | 'type'>): string {
  return `${quoteIdentifier(name)} ${type === 'NULL' ? 'VARCHAR' : type}`;
}
