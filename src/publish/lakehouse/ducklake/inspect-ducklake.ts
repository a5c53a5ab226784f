import type { SqlSession } from '../../../model/sql.ts';
import { quoteIdentifier, quoteLiteral } from '../../../warehouse/identifiers.ts';
import { compareTables } from '../engine-tables.ts';
import type { Inspection, Recorded } from '../lakehouse.ts';
import { LAKE, splitName, toLakeSchema } from '../names.ts';

/** The catalog's own tables, as the engine attaches them. */
export const METADATA_NAME = `__ducklake_metadata_${LAKE}`;
export const METADATA = quoteIdentifier(METADATA_NAME);

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
  const isAnyTouched = !isAsPublished || (await isTouched(session, schema, { generation, tables }));
  return { found, touched: new Set(isAnyTouched ? tables.keys() : []) };
}

/**
 * Whether others changed a table of ours since the last publish: a later snapshot of theirs names one, or one was made or
 * renamed since, which snapshots record under names and ids that are gone. Where the snapshot of that publish has expired, or
 * one after it, nobody knows.
 */
async function isTouched(
  session: SqlSession,
  schema: string,
  { generation = '', tables }: Recorded,
): Promise<boolean> {
  const own = [...tables.keys()].map(splitName).filter(([stored]) => stored === 'main');
  // Others may have tables of their own beside ours, and none in the schema of the state.
  const isOurs = `s.schema_name = ${quoteLiteral(toLakeSchema(schema, '_sluice'))} OR (s.schema_name = ${quoteLiteral(schema)}
           AND lower(t.table_name) IN (${['', ...own.map(([, table]) => table.toLowerCase())].map(quoteLiteral).join(', ')}))`;
  const [row] = await session.all(
    `WITH snapshots AS (FROM ducklake_snapshots(${quoteLiteral(LAKE)})),
       ours AS (SELECT max(snapshot_id) AS id FROM snapshots
         WHERE author = $1 AND json_extract_string(commit_extra_info, '$.generation') = $2),
       later AS (SELECT snapshot_id, author, flatten(map_values(changes)) AS changed FROM snapshots, ours
         WHERE snapshot_id > ours.id),
       tables AS (SELECT t.table_id::VARCHAR AS id, t.begin_snapshot AS since
         FROM ${METADATA}.ducklake_table t JOIN ${METADATA}.ducklake_schema s USING (schema_id)
         WHERE t.end_snapshot IS NULL AND s.end_snapshot IS NULL AND (${isOurs}))
     SELECT (SELECT id FROM ours) AS own,
       (SELECT count(*) FROM later, tables WHERE author IS DISTINCT FROM $1 AND list_contains(changed, tables.id)) AS touched,
       (SELECT count(*) FROM tables, ours WHERE since > ours.id) AS made,
       (SELECT max(snapshot_id) - any_value(ours.id) - count(*) FROM later, ours) AS missing`,
    [AUTHOR, generation],
  );
  return row?.['own'] === null || ['touched', 'made', 'missing'].some((what) => Number(row?.[what] ?? 0) > 0);
}
