import type { SqlSession } from '../../../model/sql.ts';
import { quoteLiteral } from '../../../warehouse/identifiers.ts';
import { toLakeSchema } from '../names.ts';
import { METADATA } from './inspect-ducklake.ts';

/**
 * Has the catalog know no upper bound of a column of texts, where the next commit could give it wrong ones: a filter then
 * finds no row beyond them. A file of long texts may have no bounds (those of Japanese ones, say). The extension (of DuckDB
 * 1.5.5) then keeps none for the table either, and takes that as a table without texts: the next file's bounds become the
 * table's. With a lower bound alone it adds to that one, and filters skip nothing.
 *
 * Call it outside of a transaction, before each that may write rows: it changes the catalog's own tables.
 */
export async function loosenTextBounds(session: SqlSession, schema: string): Promise<void> {
  const schemas = (['main', '_sluice'] as const).map((stored) => quoteLiteral(toLakeSchema(schema, stored)));
  // A file beyond the table's bounds shows that this has happened already.
  const due = await session.all(
    `SELECT DISTINCT b.table_id, b.column_id FROM ${METADATA}.ducklake_table_column_stats AS b
       JOIN ${METADATA}.ducklake_column AS c USING (table_id, column_id) JOIN ${METADATA}.ducklake_table AS t USING (table_id)
       JOIN ${METADATA}.ducklake_schema AS s USING (schema_id) JOIN ${METADATA}.ducklake_file_column_stats AS f USING (table_id, column_id)
       WHERE c.end_snapshot IS NULL AND t.end_snapshot IS NULL AND s.end_snapshot IS NULL
         AND c.column_type IN ('varchar', 'json') AND s.schema_name IN (${schemas.join(', ')})
         AND (b.min_value IS NULL OR b.min_value <> '' OR b.max_value IS NOT NULL)
         AND f.value_count > 0 AND (f.min_value IS NULL OR f.max_value IS NULL OR (b.min_value IS NULL AND b.max_value IS NULL)
           OR f.min_value < b.min_value OR f.max_value > b.max_value)`,
  );
  if (due.length === 0) return;
  const columns = due.map((row) => `(${Number(row['table_id'])}, ${Number(row['column_id'])})`);
  await session.run(
    `UPDATE ${METADATA}.ducklake_table_column_stats SET min_value = '', max_value = NULL
       WHERE (table_id, column_id) IN (${columns.join(', ')})`,
  );
}
