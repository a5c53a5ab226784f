import type { DuckLakeDestination, LakeCatalog } from '../../../model/destination.ts';
import type { SqlSession } from '../../../model/sql.ts';
import { quoteLiteral } from '../../../warehouse/identifiers.ts';
import { toLakeSchema } from '../names.ts';
import { METADATA, METADATA_NAME } from './inspect-ducklake.ts';

/** Types of columns in a catalog, as the beginning of their names: the first one that fits. */
interface TypeGroup {
  readonly begins: string;
  /** A value of the type, as text. */
  readonly least: string;
  /** The type in which bounds are compared; as texts if missing. */
  readonly compared?: string;
}

const GROUPS: readonly TypeGroup[] = [
  { begins: 'varchar', least: '' },
  { begins: 'json', least: '' },
  { begins: 'boolean', least: 'false' },
  { begins: 'int', least: '0', compared: 'HUGEINT' },
  { begins: 'uint', least: '0', compared: 'HUGEINT' },
  { begins: 'decimal', least: '0', compared: 'DOUBLE' },
  { begins: 'float', least: '0', compared: 'DOUBLE' },
  { begins: 'date', least: '0001-01-01', compared: 'TIMESTAMP' },
  { begins: 'timestamptz', least: '0001-01-01 00:00:00+00', compared: 'TIMESTAMP' },
  { begins: 'timestamp', least: '0001-01-01 00:00:00', compared: 'TIMESTAMP' },
];

/**
 * Has the catalog know no upper bound of a column where the next commit could give it wrong ones: a filter then finds no
 * row beyond them. Two things leave a table without bounds: no values in its first files, as of the end of a version in
 * a history, and a file without bounds, as of long Japanese texts. The extension (of DuckDB 1.5.5) keeps none
 * then, also where values come later, and at some commit takes the bounds of that file for the table's. With a lower
 * bound alone it adds to that one, and filters skip nothing.
 *
 * Call it outside of a transaction, before each that may write rows: it changes the catalog's own tables.
 */
export async function loosenBounds(
  session: SqlSession,
  { schema, catalog }: Pick<DuckLakeDestination, 'catalog' | 'schema'>,
): Promise<void> {
  const schemas = (['main', '_sluice'] as const).map((stored) => quoteLiteral(toLakeSchema(schema, stored)));
  // A file beyond the table's bounds shows that this has happened already.
  const due = await session.all(
    `SELECT DISTINCT b.table_id, b.column_id, c.column_type FROM ${METADATA}.ducklake_table_column_stats AS b
       JOIN ${METADATA}.ducklake_column AS c USING (table_id, column_id) JOIN ${METADATA}.ducklake_table AS t USING (table_id)
       JOIN ${METADATA}.ducklake_schema AS s USING (schema_id)
       LEFT JOIN ${METADATA}.ducklake_file_column_stats AS f ON f.table_id = b.table_id AND f.column_id = b.column_id
       WHERE c.end_snapshot IS NULL AND t.end_snapshot IS NULL AND s.end_snapshot IS NULL AND s.schema_name IN (${schemas.join(', ')})
         AND (b.min_value IS NULL OR b.max_value IS NOT NULL) AND (${GROUPS.map(describeDue).join(' OR ')})`,
  );
  if (due.length === 0) return;
  for (const { begins, least } of GROUPS) {
    const columns = due
      .filter(({ column_type: type }) => groupOf(String(type))?.begins === begins)
      .map((row) => `(${Number(row['table_id'])}, ${Number(row['column_id'])})`);
    if (columns.length === 0) continue;
    await update(
      session,
      catalog,
      `SET min_value = ${quoteLiteral(least)}, max_value = NULL WHERE (table_id, column_id) IN (${columns.join(', ')})`,
    );
  }
}

/** Updates the bounds of tables. On Postgres as that would: the engine needs the right to create temporary tables there. */
function update(session: SqlSession, { kind }: LakeCatalog, change: string): Promise<void> {
  const table = 'ducklake_table_column_stats';
  if (kind === 'sqlite') return session.run(`UPDATE ${METADATA}.${table} ${change}`);
  const statement = quoteLiteral(`UPDATE public.${table} ${change}`);
  return session.run(`CALL postgres_execute(${quoteLiteral(METADATA_NAME)}, ${statement})`);
}

function groupOf(type: string): TypeGroup | undefined {
  return GROUPS.find(({ begins }) => type.startsWith(begins));
}

function describeDue({ begins, compared }: TypeGroup): string {
  const value = (name: string) => (compared === undefined ? name : `TRY_CAST(${name} AS ${compared})`);
  return `starts_with(c.column_type, ${quoteLiteral(begins)}) AND (b.min_value IS NULL AND b.max_value IS NULL
    OR f.value_count > 0 AND (f.min_value IS NULL OR f.max_value IS NULL)
    OR ${value('f.min_value')} < ${value('b.min_value')} OR ${value('f.max_value')} > ${value('b.max_value')})`;
}
