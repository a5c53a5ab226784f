import { z } from 'zod';
import type { SqlSession } from '../../model/sql.ts';
import { quoteIdentifier } from '../../warehouse/identifiers.ts';
import type { Found, FoundTable, RecordedTable, StoredColumn, StoredTable } from './lakehouse.ts';
import { LAKE, type LakePlace, listLakeSchemas, locateInLake, nameInLake, toLakeSchema } from './names.ts';

/**
 * Which of these names tables or views have in a schema, as the engine lists them. By their columns: a list of tables says
 * how many rows each has, for which a lake is asked once for every table of every schema.
 */
export async function listTaken(
  session: SqlSession,
  { database = LAKE, schema }: LakePlace,
  names: readonly string[],
): Promise<readonly string[]> {
  const where = 'lower(database_name) = lower($1) AND schema_name = $2';
  const rows = await session.all(
    `SELECT table_name AS name FROM duckdb_columns() WHERE ${where}
       UNION SELECT view_name FROM duckdb_views() WHERE ${where} AND NOT internal ORDER BY ALL`,
    [database, schema],
  );
  const wanted = new Set(names.map((name) => name.toLowerCase()));
  return rows.map(({ name }) => String(name)).filter((name) => wanted.has(name.toLowerCase()));
}

/** Compares the columns that tables have now with those that were published. */
export async function compareTables(
  session: SqlSession,
  place: LakePlace,
  tables: ReadonlyMap<string, RecordedTable>,
): Promise<ReadonlyMap<string, Found>> {
  const actual = await readActualColumns(session, place);
  return new Map(
    [...tables].map(([name, { columns }]) => [
      name,
      compareColumns(columns, actual.get(locateInLake(place, name))),
    ]),
  );
}

/** Names and types of the columns that tables have now, by the table's name in SQL. */
async function readActualColumns(
  session: SqlSession,
  place: LakePlace,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { database = LAKE, schema } = place;
  const stored = listLakeSchemas(schema);
  const rows = await session.all(
    // Once for both schemas: the engine binds each view of the database for it.
    `SELECT schema_name AS schema, table_name AS name, list(column_name || ' ' || data_type ORDER BY ALL)::JSON AS columns
       FROM duckdb_columns() WHERE lower(database_name) = lower($1) AND schema_name IN ($2, $3) GROUP BY ALL`,
    [database, ...stored.keys()],
  );
  return new Map(
    rows.map((row) => [
      nameInLake(place, stored.get(String(row['schema'])) ?? 'main', String(row['name'])),
      z.array(z.string()).parse(JSON.parse(String(row['columns']))),
    ]),
  );
}

function compareColumns(recorded: readonly StoredColumn[], actual: readonly string[] | undefined): Found {
  if (actual === undefined) return 'gone';
  const wanted = recorded.map(({ name, storedAs }) => `${name} ${storedAs}`);
  return JSON.stringify(wanted.toSorted()) === JSON.stringify([...actual].toSorted())
    ? 'as published'
    : 'altered';
}

/** Drops a table, and creates it with the columns that it should have. */
export async function createAgain(
  session: SqlSession,
  place: LakePlace,
  { schema, table, columns, before }: StoredTable & { readonly before: FoundTable | undefined },
): Promise<void> {
  const name = nameInLake(place, schema, table);
  const list = columns.map((column) => `${quoteIdentifier(column.name)} ${column.storedAs}`);
  if ((before?.found ?? 'gone') !== 'gone') {
    // Another program may have put a view in its place.
    const kind = (await isView(session, place, { schema, table })) ? 'VIEW' : 'TABLE';
    await session.run(`DROP ${kind} ${name}`);
  }
  await session.run(`CREATE TABLE ${name} (${list.join(', ')})`);
}

async function isView(
  session: SqlSession,
  { database = LAKE, schema }: LakePlace,
  name: Pick<StoredTable, 'schema' | 'table'>,
): Promise<boolean> {
  const rows = await session.all(
    `SELECT 1 FROM duckdb_views() WHERE lower(database_name) = lower($1) AND schema_name = $2 AND view_name = $3`,
    [database, toLakeSchema(schema, name.schema), name.table],
  );
  return rows.length > 0;
}
