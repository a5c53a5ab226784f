import type { SqlSession } from '../../../model/sql.ts';
import { quoteLiteral } from '../../../warehouse/identifiers.ts';
import { compareTables } from '../engine-tables.ts';
import type { Inspection, Recorded } from '../lakehouse.ts';
import { LAKE, toLakeSchema } from '../names.ts';

/** Who made a snapshot, in the lake's own list of them. */
export const AUTHOR = 'sluice';

/** Compares the columns of the tables, and looks for snapshots of others; any of them may have changed any row. */
export async function inspectDuckLake(
  session: SqlSession,
  schema: string,
  { generation, tables }: Recorded,
): Promise<Inspection> {
  const found = await compareTables(session, { schema }, tables);
  const isAsPublished = [...found.values()].every((one) => one === 'as published');
  const isAnyTouched = !isAsPublished || (await isTouched(session, schema, generation ?? ''));
  return { found, touched: new Set(isAnyTouched ? tables.keys() : []) };
}

/**
 * Whether a snapshot since the last publish names a table of ours, which are listed by their columns: see `listTaken`. Where the snapshot of that publish has expired,
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
         SEMI JOIN (SELECT table_name FROM duckdb_columns()
           WHERE database_name = ${quoteLiteral(LAKE)} AND schema_name IN (${schemas.join(', ')})) USING (table_name))
     SELECT (SELECT id FROM ours) AS own, (SELECT count(*) FROM later, tables WHERE list_contains(changed, tables.id)) AS touched`,
    [AUTHOR, generation],
  );
  return row?.['own'] === null || Number(row?.['touched']) > 0;
}
