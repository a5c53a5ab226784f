import { quoteIdentifier } from '../../warehouse/identifiers.ts';

/** Alias of the lake in all our statements. */
export const LAKE = 'lake';

/** Schemas of the work file that are published. */
export type StoredSchema = 'main' | '_sluice';

/** What the tables of Sluice that only a lake has are called; the work file has none of these names. */
export const OWN_TABLES = { commit: 'lake_commit', tables: 'lake_tables', parts: 'lake_parts' } as const;

/** The schema of the lake that has the tables of one of the work file. */
export function toLakeSchema(schema: string, stored: StoredSchema): string {
  if (stored === 'main') return schema;
  return schema === 'main' ? '_sluice' : `_sluice_${schema}`;
}

/** A table of the lake, in SQL. */
export function nameInLake(schema: string, stored: StoredSchema, table: string): string {
  return [LAKE, toLakeSchema(schema, stored), table].map(quoteIdentifier).join('.');
}
