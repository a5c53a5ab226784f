import type { SqlSession } from '../../../model/sql.ts';
import { quoteLiteral } from '../../../warehouse/identifiers.ts';
import type { Found, Inspection, Recorded, StoredColumn } from '../lakehouse.ts';
import { compareVersions, LEADING, type TableVersions } from '../compare-versions.ts';
import { locateInLake } from '../names.ts';
import { orUndefined, readVersions, writeVersions } from './table-properties.ts';

/** Compares the versions that the catalog has of our tables with those that Sluice left. */
export async function inspectIceberg(
  session: SqlSession,
  schema: string,
  recorded: Recorded,
): Promise<Inspection> {
  const locate = (name: string) => locateInLake({ schema }, name);
  const versions: TableVersions = {
    left: await readVersions(session, schema),
    findVersion: (name) => findVersion(session, locate(name)),
    compareColumns: (name, columns) => compareColumns(session, locate(name), columns),
  };
  return compareVersions(versions, recorded);
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

/** Records the versions of the tables that a commit changed. */
export async function recordVersions(
  session: SqlSession,
  schema: string,
  tables: ReadonlySet<string>,
): Promise<void> {
  const versions = new Map(await readVersions(session, schema));
  for (const name of [...tables, ...LEADING]) {
    const version = await findVersion(session, locateInLake({ schema }, name));
    if (version !== undefined) versions.set(name, version);
  }
  await writeVersions(session, schema, versions);
}

/** The version of a table: its identity, its columns and its rows; undefined if it is gone. */
export async function findVersion(session: SqlSession, table: string): Promise<string | undefined> {
  const rows = await orUndefined(
    session.all(
      `SELECT concat_ws(' ', metadata."table-uuid"::VARCHAR, metadata."current-schema-id"::VARCHAR, metadata."current-snapshot-id"::VARCHAR) AS version
         FROM iceberg_load_table_response(${quoteLiteral(table)})`,
    ),
  );
  return rows === undefined ? undefined : String(rows[0]?.['version']);
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
