import { z } from 'zod';
import type { SqlSession } from '../../../model/sql.ts';
import { quoteLiteral } from '../../../warehouse/identifiers.ts';
import type { Found, Inspection, Recorded, SeenTable, StoredColumn, TableWrites } from '../lakehouse.ts';
import { compareVersions, LEADING, type TableVersions } from '../compare-versions.ts';
import { locateInLake } from '../names.ts';
import { orUndefined, readVersions, writeVersions } from './table-properties.ts';

/** A table as the catalog has it. */
interface CatalogTable extends SeenTable {
  /** Changes with its identity, its columns and its rows. */
  readonly version: string;
}

/** Compares the versions that the catalog has of our tables with those that Sluice left. */
export async function inspectIceberg(
  session: SqlSession,
  schema: string,
  recorded: Recorded,
): Promise<Inspection> {
  const locate = (name: string) => locateInLake({ schema }, name);
  const seen = new Map<string, CatalogTable>();
  const look = async (name: string) => {
    const table = await findTable(session, locate(name));
    if (table !== undefined) seen.set(name, table);
    return table?.version;
  };
  const versions: TableVersions = {
    left: await readVersions(session, schema),
    findVersion: look,
    compareColumns: (name, columns) => compareColumns(session, locate(name), columns),
  };
  const inspection = await compareVersions(versions, recorded);
  // Before any row is read: what changes later is not taken for what was compared.
  for (const name of inspection.touched) if (!seen.has(name)) await look(name);
  return { ...inspection, seen };
}

async function compareColumns(
  session: SqlSession,
  table: string,
  recorded: readonly StoredColumn[],
): Promise<Found> {
  const actual = await describeColumns(session, table);
  if (actual === undefined) return 'gone';
  const isSameTable =
    actual.length === recorded.length &&
    recorded.every((column) => actual.some((one) => isSame(one, column)));
  return isSameTable ? 'as published' : 'altered';
}

/**
 * Records the versions of the tables that a commit compared or changed. A table that has more changes than those of the
 * commit is not recorded: somebody else changed it meanwhile, and the next publish compares all its rows.
 */
export async function recordVersions(
  session: SqlSession,
  schema: string,
  tables: ReadonlyMap<string, TableWrites>,
): Promise<void> {
  const versions = new Map(await readVersions(session, schema));
  for (const name of [...tables.keys(), ...LEADING]) {
    const table = await findTable(session, locateInLake({ schema }, name));
    const writes = tables.get(name);
    if (table === undefined) continue;
    if (writes === undefined || follows(table, writes)) versions.set(name, table.version);
    else versions.delete(name);
  }
  await writeVersions(session, schema, versions);
}

/** Whether nobody else changed a table since it was seen. */
function follows({ id, sequence }: CatalogTable, { seen, statements }: TableWrites): boolean {
  if (statements === undefined || (seen !== undefined && seen.id !== id)) return false;
  return sequence === (seen?.sequence ?? 0) + statements;
}

/** A table as the catalog has it now; undefined if it is gone. */
async function findTable(session: SqlSession, table: string): Promise<CatalogTable | undefined> {
  const rows = await orUndefined(
    session.all(
      `SELECT metadata."table-uuid"::VARCHAR AS id, metadata."last-sequence-number"::BIGINT AS sequence,
           concat_ws(' ', metadata."table-uuid"::VARCHAR, metadata."current-schema-id"::VARCHAR, metadata."current-snapshot-id"::VARCHAR) AS version
         FROM iceberg_load_table_response(${quoteLiteral(table)})`,
    ),
  );
  const [row] = rows ?? [];
  if (row === undefined) return undefined;
  return { id: String(row['id']), sequence: Number(row['sequence']), version: String(row['version']) };
}

/** Whether a table is there. */
export async function hasTable(session: SqlSession, table: string): Promise<boolean> {
  return (await findTable(session, table)) !== undefined;
}

const schemasSchema = z.array(z.object({ 'schema-id': z.number() }));

/**
 * Whether the columns that a table has now are those of an earlier schema. The engine (DuckDB 1.5.5) numbers a new schema
 * after the one that is current, and catalogs take a schema that they know already for the earlier one: then that
 * number is taken, and no change of columns works any more.
 */
export async function hasOldSchema(session: SqlSession, table: string): Promise<boolean> {
  const rows = await orUndefined(
    session.all(
      `SELECT metadata."current-schema-id"::INTEGER AS current, metadata.schemas::JSON::VARCHAR AS schemas
         FROM iceberg_load_table_response(${quoteLiteral(table)})`,
    ),
  );
  const [row] = rows ?? [];
  if (typeof row?.['schemas'] !== 'string') return false;
  const ids = schemasSchema.parse(JSON.parse(row['schemas'])).map((schema) => schema['schema-id']);
  return ids.some((id) => id > Number(row['current']));
}

/** Columns of a table now, with the engine's types; undefined if it is gone. */
export async function describeColumns(
  session: SqlSession,
  table: string,
): Promise<readonly Pick<StoredColumn, 'name' | 'storedAs'>[] | undefined> {
  const rows = await orUndefined(session.all(`DESCRIBE ${table}`));
  return rows?.map((row) => ({ name: String(row['column_name']), storedAs: String(row['column_type']) }));
}

export function isSame(
  one: Pick<StoredColumn, 'name' | 'storedAs'>,
  other: Pick<StoredColumn, 'name' | 'storedAs'>,
): boolean {
  return one.name === other.name && one.storedAs === other.storedAs;
}
