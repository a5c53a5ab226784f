import { quoteIdentifier } from '../../warehouse/identifiers.ts';

/** Alias of the lakehouse in our statements, unless it keeps a name of its own. */
export const LAKE = 'lake';

/** Where the tables are in an engine that has the lakehouse open. */
export interface LakePlace {
  readonly schema: string;
  /** What it is attached as, where it may not have an alias. */
  readonly database?: string;
}

/** Schemas of the work file that are published. */
export type StoredSchema = 'main' | '_sluice';

/** What the tables of Sluice that only a lakehouse has are called; the work file has none of these names. */
export const OWN_TABLES = {
  commit: 'lake_commit',
  tables: 'lake_tables',
  parts: 'lake_parts',
  views: 'lake_views',
} as const;

/** The schema of the lakehouse that has the tables of one of the work file. */
export function toLakeSchema(schema: string, stored: StoredSchema): string {
  if (stored === 'main') return schema;
  return schema === 'main' ? '_sluice' : `_sluice_${schema}`;
}

/** The schemas of the work file by their names in the lakehouse. */
export function listLakeSchemas(schema: string): ReadonlyMap<string, StoredSchema> {
  return new Map((['main', '_sluice'] as const).map((stored) => [toLakeSchema(schema, stored), stored]));
}

/** A schema of the lakehouse, in SQL. */
export function nameSchema({ schema, database = LAKE }: LakePlace, stored: StoredSchema): string {
  return [database, toLakeSchema(schema, stored)].map(quoteIdentifier).join('.');
}

/** A table of the lakehouse, in SQL. */
export function nameInLake(place: LakePlace, stored: StoredSchema, table: string): string {
  return `${nameSchema(place, stored)}.${quoteIdentifier(table)}`;
}

/** The same by its name in the work file: `main.items`. */
export function locateInLake(place: LakePlace, name: string): string {
  return nameInLake(place, ...splitName(name));
}

/** The parts of a name in the work file. */
export function splitName(name: string): readonly [stored: StoredSchema, table: string] {
  const at = name.indexOf('.');
  return [name.slice(0, at) === 'main' ? 'main' : '_sluice', name.slice(at + 1)];
}

/** What people call a table of the lakehouse that has this name in the work file: `analytics.items`. */
export function nameThere(schema: string, name: string): string {
  const [stored, table] = splitName(name);
  return `${toLakeSchema(schema, stored)}.${table}`;
}
