import { z } from 'zod';
import type { DuckLakeDestination } from '../../model/destination.ts';
import { PublishError } from '../../model/errors.ts';
import type { SqlSession } from '../../model/sql.ts';
import { quoteLiteral } from '../../warehouse/identifiers.ts';
import { LAKE, nameInLake, OWN_TABLES, type StoredSchema, toLakeSchema } from './names.ts';

/** Version of the tables that only a lake has. */
export const LAKE_VERSION = 1;

/** Who made a snapshot, in the lake's own list of them. */
export const AUTHOR = 'sluice';

/** A column, and the type that the lake holds it as. */
export interface LakeColumn {
  readonly name: string;
  readonly type: string;
  readonly storedAs: string;
}

/** A table as it was published last. */
export interface HeldTable {
  readonly columns: readonly LakeColumn[];
  /** SQL of its partitions; empty without. */
  readonly partitions: string;
  /** Whether it is there with these columns: another program may have dropped or altered it. */
  readonly found: 'as published' | 'altered' | 'gone';
}

/** What the lake holds. */
export interface HeldLake {
  readonly generation: string;
  /** Entries of the state's `meta`. */
  readonly meta: ReadonlyMap<string, string>;
  /** Epoch ms; that of the first publish before any. */
  readonly maintainedAtMs: number;
  /** By name in the work file: `main.items`. */
  readonly tables: ReadonlyMap<string, HeldTable>;
  /** Another program changed tables of ours since. */
  readonly isTouched: boolean;
}

const columnsSchema = z.array(z.strictObject({ name: z.string(), type: z.string(), storedAs: z.string() }));

/** Reads what a lake holds of ours; undefined before the first publish. */
export async function readHeldLake(
  session: SqlSession,
  { schema, path }: Pick<DuckLakeDestination, 'schema' | 'path'>,
): Promise<HeldLake | undefined> {
  const own = (table: string) => nameInLake(schema, '_sluice', table);
  if (!(await listLakeTables(session, toLakeSchema(schema, '_sluice'))).includes(OWN_TABLES.commit))
    return undefined;
  const [commit] = await session.all(
    `SELECT generation, version, epoch_ms(maintained_at) AS maintained FROM ${own(OWN_TABLES.commit)}`,
  );
  if (Number(commit?.['version']) > LAKE_VERSION)
    throw new PublishError(`a newer release of Sluice publishes to ${path}`, {
      code: 'publish_refused',
      hint: 'Upgrade Sluice. Nothing was changed.',
      context: { path },
      exitCode: 2,
    });
  const rows = await session.all(
    `SELECT name, columns, partitions FROM ${own(OWN_TABLES.tables)} ORDER BY name`,
  );
  const actual = await readActualColumns(session, schema);
  const tables = new Map(
    rows.map(({ name, columns: text, partitions }) => {
      const columns = columnsSchema.parse(JSON.parse(String(text)));
      const found = compareColumns(columns, actual.get(nameInLake(schema, ...splitName(String(name)))));
      return [String(name), { columns, partitions: String(partitions), found }];
    }),
  );
  const isAsPublished = [...tables.values()].every(({ found }) => found === 'as published');
  const meta = await session.all(`SELECT key, value FROM ${own('meta')}`);
  const generation = String(commit?.['generation']);
  return {
    generation,
    maintainedAtMs: Number(commit?.['maintained']),
    meta: new Map(meta.map(({ key, value }) => [String(key), String(value)])),
    tables,
    isTouched: !isAsPublished || (await isTouched(session, schema, generation)),
  };
}

/** Names and types of the columns that tables of the lake have now, by the table's name in SQL. */
async function readActualColumns(
  session: SqlSession,
  schema: string,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const tables = new Map<string, readonly string[]>();
  for (const stored of ['main', '_sluice'] as const) {
    const rows = await session.all(
      `SELECT table_name AS name, list(column_name || ' ' || data_type ORDER BY ALL)::JSON AS columns FROM duckdb_columns()
         WHERE database_name = $1 AND schema_name = $2 GROUP BY ALL`,
      [LAKE, toLakeSchema(schema, stored)],
    );
    for (const { name, columns } of rows)
      tables.set(
        nameInLake(schema, stored, String(name)),
        z.array(z.string()).parse(JSON.parse(String(columns))),
      );
  }
  return tables;
}

function compareColumns(
  recorded: readonly LakeColumn[],
  actual: readonly string[] | undefined,
): HeldTable['found'] {
  if (actual === undefined) return 'gone';
  const wanted = recorded.map(({ name, storedAs }) => `${name} ${storedAs}`);
  return JSON.stringify(wanted.toSorted()) === JSON.stringify([...actual].toSorted())
    ? 'as published'
    : 'altered';
}

/** Names of all tables and views of a schema of the lake. */
export async function listLakeTables(session: SqlSession, schema: string): Promise<readonly string[]> {
  const where = `database_name = ${quoteLiteral(LAKE)} AND schema_name = ${quoteLiteral(schema)}`;
  const rows = await session.all(
    `SELECT table_name AS name FROM duckdb_tables() WHERE ${where}
     UNION ALL SELECT view_name FROM duckdb_views() WHERE ${where} AND NOT internal ORDER BY ALL`,
  );
  return rows.map(({ name }) => String(name));
}

/** The parts of a name in the work file. */
export function splitName(name: string): readonly [stored: StoredSchema, table: string] {
  const at = name.indexOf('.');
  return [name.slice(0, at) === 'main' ? 'main' : '_sluice', name.slice(at + 1)];
}

/**
 * Whether a snapshot since the last publish names a table of ours. Where the snapshot of that publish has expired,
 * nobody knows.
 */
async function isTouched(session: SqlSession, schema: string, generation: string): Promise<boolean> {
  const schemas = (['main', '_sluice'] as const).map((stored) => quoteLiteral(toLakeSchema(schema, stored)));
  const [row] = await session.all(
    `WITH snapshots AS (FROM ducklake_snapshots(${quoteLiteral(LAKE)})),
       ours AS (SELECT max(snapshot_id) AS id FROM snapshots
         WHERE author = $1 AND json_extract_string(commit_extra_info, '$.generation') = $2),
       later AS (SELECT flatten(map_values(changes)) AS changed FROM snapshots, ours
         WHERE snapshot_id > ours.id AND author IS DISTINCT FROM $1),
       tables AS (SELECT table_id::VARCHAR AS id FROM ducklake_table_info(${quoteLiteral(LAKE)})
         SEMI JOIN (SELECT table_name FROM duckdb_tables()
           WHERE database_name = ${quoteLiteral(LAKE)} AND schema_name IN (${schemas.join(', ')})) USING (table_name))
     SELECT (SELECT id FROM ours) AS own, (SELECT count(*) FROM later, tables WHERE list_contains(changed, tables.id)) AS touched`,
    [AUTHOR, generation],
  );
  return row?.['own'] === null || Number(row?.['touched']) > 0;
}
