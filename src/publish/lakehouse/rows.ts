import { ATTACHED } from '../../warehouse/database-options.ts';
import { quoteIdentifier, quoteLiteral } from '../../warehouse/identifiers.ts';
import type { StoredColumn, StoredTable } from './lakehouse.ts';
import { type LakePlace, nameInLake } from './names.ts';

/** The rows of a table, in the work file or in the lakehouse, as SQL. */
export interface RowSource {
  /** The table. */
  readonly from: string;
  /** A hash of all values of a row in the types of the work file: equal for equal rows on both sides. */
  readonly hash: string;
  /** The part that a row belongs to. */
  readonly part: string;
}

/** A table in the work file. */
export function inWork({
  schema,
  table,
  columns,
  datedBy,
}: Pick<StoredTable, 'schema' | 'table' | 'columns' | 'datedBy'>): RowSource {
  const values = columns.map(({ name }) => `${quoteIdentifier(name)} := ${quoteIdentifier(name)}`);
  return {
    from: [ATTACHED, schema, table].map(quoteIdentifier).join('.'),
    hash: `hash(struct_pack(${values.join(', ')}))`,
    part: describePart(datedBy?.name),
  };
}

/** The same table in the lakehouse. */
export function inLake({ schema, table, columns, datedBy }: StoredTable, place: LakePlace): RowSource {
  const values = columns.map((column) => `${quoteIdentifier(column.name)} := ${readColumn(column)}`);
  return {
    from: nameInLake(place, schema, table),
    hash: `hash(struct_pack(${values.join(', ')}))`,
    part: describePart(datedBy?.name),
  };
}

/** A column of the lakehouse with its type in the work file. */
export function readColumn({ name, type, storedAs }: StoredColumn): string {
  return type === storedAs ? quoteIdentifier(name) : `CAST(${quoteIdentifier(name)} AS ${type})`;
}

// Of a time with a zone, the day in UTC, which is the zone of all our engines.
function describePart(name: string | undefined): string {
  if (name === undefined) return `''`;
  const day = `coalesce(CAST(CAST(${quoteIdentifier(name)} AS DATE) AS VARCHAR), '')`;
  return `${quoteLiteral(beginPart(name))} || ${day}`;
}

/**
 * How the names of the parts by a column begin: where a table is divided by another one than before, a row may be in a
 * part that neither side had, so that parts say nothing.
 */
export function beginPart(name: string): string {
  return `${name}=`;
}

/** The first and last day of the parts of a table that changed; empty where some are not days of four-digit years. */
export interface ChangedParts {
  readonly first?: string;
  readonly last?: string;
}

/** Selects the rows of changed parts, so that the engine reads only files that may have some. */
export function describeFilter(
  { name, datedBy }: Pick<StoredTable, 'name' | 'datedBy'>,
  { first, last }: ChangedParts,
  { part }: RowSource,
): string {
  if (datedBy === undefined) return 'true';
  const changed = `${part} IN (SELECT part FROM sluice_changed WHERE name = ${quoteLiteral(name)})`;
  if (first === undefined || last === undefined) return changed;
  const column = quoteIdentifier(datedBy.name);
  const from = `CAST(DATE ${quoteLiteral(first)} AS ${datedBy.type})`;
  const to = `CAST(DATE ${quoteLiteral(last)} + 1 AS ${datedBy.type})`;
  return `${column} >= ${from} AND ${column} < ${to} AND ${changed}`;
}

/** Names of all columns, as SQL. */
export function listColumns({ columns }: StoredTable): string {
  return columns.map(({ name }) => quoteIdentifier(name)).join(', ');
}

/** Rows of the same days lie together, so that a reader of some days skips the other files. */
export function sortRows({ datedBy, partitions }: StoredTable): string {
  return datedBy === undefined || partitions !== '' ? '' : `ORDER BY ${quoteIdentifier(datedBy.name)}`;
}
