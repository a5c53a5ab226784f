import type { RelationComments } from '../../../model/dictionary.ts';
import type { SqlSession } from '../../../model/sql.ts';
import { applyComments, type HeldComments } from '../../../warehouse/comments.ts';
import { quoteLiteral } from '../../../warehouse/identifiers.ts';
import { LAKE } from '../names.ts';
import { METADATA } from './inspect-ducklake.ts';

/** Writes comments of tables that differ. */
export async function commentInDuckLake(
  session: SqlSession,
  wanted: readonly RelationComments[],
): Promise<void> {
  if (wanted.length === 0) return;
  const schemas = [...new Set(wanted.map(({ schema }) => schema))];
  await applyComments(session, wanted, { held: await readHeld(session, schemas), database: LAKE });
}

/**
 * By columns, and from the catalog's own tables: see `listTaken`. A table that this transaction has replaced seems to have
 * the comment of the one before, and gets its own with the next publish.
 */
async function readHeld(session: SqlSession, schemas: readonly string[]): Promise<readonly HeldComments[]> {
  const rows = await session.all(
    `SELECT c.schema_name AS schema, c.table_name AS name, c.column_name AS "column", c.comment, t.comment AS own
       FROM duckdb_columns() AS c LEFT JOIN (
         SELECT s.schema_name, t.table_name, g.value AS comment FROM ${METADATA}.ducklake_tag AS g
           JOIN ${METADATA}.ducklake_table AS t ON t.table_id = g.object_id JOIN ${METADATA}.ducklake_schema AS s USING (schema_id)
           WHERE g.key = 'comment' AND g.end_snapshot IS NULL AND t.end_snapshot IS NULL AND s.end_snapshot IS NULL) AS t
         ON t.schema_name = c.schema_name AND t.table_name = c.table_name
       WHERE c.database_name = ${quoteLiteral(LAKE)} AND c.schema_name IN (${schemas.map(quoteLiteral).join(', ')})`,
  );
  const tables = Map.groupBy(rows, ({ schema, name }) => `${String(schema)}.${String(name)}`);
  return [...tables.values()].map((columns) => ({
    schema: String(columns[0]?.['schema']),
    name: String(columns[0]?.['name']),
    kind: 'TABLE',
    comment: toText(columns[0]?.['own']),
    columns: new Map(columns.map(({ column, comment }) => [String(column), toText(comment)])),
  }));
}

function toText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
