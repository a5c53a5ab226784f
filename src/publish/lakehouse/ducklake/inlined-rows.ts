import type { DuckLakeDestination } from '../../../model/destination.ts';
import type { SqlSession } from '../../../model/sql.ts';
import { quoteLiteral } from '../../../warehouse/identifiers.ts';
import type { StoredTable } from '../lakehouse.ts';
import { LAKE, toLakeSchema } from '../names.ts';
import { MOST_NAME_BYTES, SYSTEM_COLUMNS } from '../postgres-names.ts';

/** Columns of DuckLake's own in the catalog's tables of small changes (DuckLake 1.0). */
const OF_DUCKLAKE = [
  'row_id',
  'begin_snapshot',
  'end_snapshot',
  '_ducklake_internal_row_id',
  '_ducklake_internal_snapshot_id',
];

/**
 * Has the rows of a schema written to files, however few they are, if one of its tables has a column that the catalog
 * could not hold: DuckLake keeps small changes in a table of the catalog, under the names of the columns.
 */
export async function keepOutOfCatalog(
  session: SqlSession,
  { catalog, schema }: DuckLakeDestination,
  table: Pick<StoredTable, 'schema' | 'columns'>,
): Promise<void> {
  const isPostgres = catalog.kind === 'postgres';
  const reserved = new Set([...OF_DUCKLAKE, ...(isPostgres ? SYSTEM_COLUMNS : [])]);
  const isKept = ({ name }: { readonly name: string }) =>
    reserved.has(name.toLowerCase()) || (isPostgres && Buffer.byteLength(name) > MOST_NAME_BYTES);
  if (!table.columns.some(isKept)) return;
  const place = toLakeSchema(schema, table.schema);
  await session.run(
    `CALL ducklake_set_option(${quoteLiteral(LAKE)}, 'data_inlining_row_limit', 0, schema => ${quoteLiteral(place)})`,
  );
}
