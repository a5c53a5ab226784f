import type { SqlRow, SqlSession } from '../../../model/sql.ts';
import { quoteIdentifier, quoteLiteral } from '../../../warehouse/identifiers.ts';
import { formatCount, formatCountOf } from '../../../text/format-count.ts';
import type { Damage } from '../../publisher.ts';
import type { StoredColumn } from '../lakehouse.ts';
import { LAKE, type LakePlace, locateInLake, nameThere, splitName, toLakeSchema } from '../names.ts';
import { METADATA } from './inspect-ducklake.ts';

/** What a catalog, or a file about a group of its rows, says of the values of a column. */
interface Claim {
  readonly column: string;
  /** As texts; undefined where nothing is said. */
  readonly least: string | undefined;
  readonly greatest: string | undefined;
  readonly hasNulls: boolean;
  readonly hasValues: boolean;
}

/** Claims about rows one after the other, and the row of a file behind the last one. */
interface ClaimedRows {
  readonly claims: readonly Claim[];
  readonly end?: number;
}

/** A table, and its columns with their types in the lake. */
interface ClaimedTable {
  readonly name: string;
  readonly columns: readonly StoredColumn[];
}

/** A table as the catalog has it: its id, and its rows and its files as SQL. */
interface ListedTable {
  readonly id: number;
  readonly from: string;
  readonly files: string;
}

/** Rows as SQL, and all that is claimed of them. */
interface ClaimedSource {
  readonly from: string;
  readonly where: string;
  readonly groups: readonly ClaimedRows[];
}

/**
 * Compares what readers count by with the files, and what they skip rows by with the values: the bounds and nulls that
 * the catalog has for tables and files, and those that files have for groups of rows. Where one does not cover a value, a
 * filter does not find its row.
 *
 * The engine must not use statistics itself: see `openAsWorkFile`.
 */
export async function findWrongStatistics(
  session: SqlSession,
  place: LakePlace,
  { tables, fix }: { readonly tables: readonly ClaimedTable[]; readonly fix: string },
): Promise<readonly Damage[]> {
  const damages: Damage[] = [];
  for (const table of tables) {
    const listed = await findTable(session, place, table);
    const problems = [
      await findWrongCount(session, listed),
      await findMissed(session, table, listSources(session, listed)),
    ];
    for (const problem of problems)
      if (problem !== undefined) damages.push([`${nameThere(place.schema, table.name)}: ${problem}`, fix]);
  }
  return damages;
}

/** The first claim about a table that does not cover all values. */
async function findMissed(
  session: SqlSession,
  table: ClaimedTable,
  sources: AsyncIterable<ClaimedSource>,
): Promise<string | undefined> {
  for await (const source of sources) {
    const missed = await countMissed(session, table, source);
    if (missed === undefined) continue;
    const { column, rows } = missed;
    return `a filter by ${column} may miss ${formatCountOf(rows, 'row')}: what ${source.where} says of its values is wrong`;
  }
  return undefined;
}

/** Compares the numbers of rows that the catalog has for files with the files: `count(*)` reads nothing else. */
async function findWrongCount(session: SqlSession, { id, files }: ListedTable): Promise<string | undefined> {
  const claimed = await session.all(
    `SELECT l.data_file AS path, f.record_count AS rows FROM ${files} AS l JOIN ${METADATA}.ducklake_data_file AS f
       ON f.table_id = ${id} AND f.end_snapshot IS NULL AND ends_with(l.data_file, f.path)
     UNION ALL SELECT l.delete_file, d.delete_count FROM ${files} AS l JOIN ${METADATA}.ducklake_delete_file AS d
       ON d.table_id = ${id} AND d.end_snapshot IS NULL AND ends_with(l.delete_file, d.path) AND lower(d.format) = 'parquet'
     ORDER BY ALL`,
  );
  if (claimed.length === 0) return undefined;
  const paths = claimed.map(({ path }) => quoteLiteral(String(path)));
  const found = await session.all(
    `SELECT file_name AS path, num_rows AS rows FROM parquet_file_metadata([${paths.join(', ')}])`,
  );
  const held = new Map(found.map(({ path, rows }) => [path, Number(rows)]));
  const wrong = claimed.find(({ path, rows }) => held.get(path) !== Number(rows));
  if (wrong === undefined) return undefined;
  const path = String(wrong['path']);
  return `count(*) may be wrong: the catalog says that ${path} has ${formatCountOf(Number(wrong['rows']), 'row')}, it has ${formatCount(held.get(path))}`;
}

async function findTable(
  session: SqlSession,
  place: LakePlace,
  { name }: ClaimedTable,
): Promise<ListedTable> {
  const [stored, table] = splitName(name);
  const schema = toLakeSchema(place.schema, stored);
  const ids = await session.all(
    `SELECT t.table_id AS id FROM ${METADATA}.ducklake_table AS t JOIN ${METADATA}.ducklake_schema AS s USING (schema_id)
       WHERE t.table_name = $1 AND s.schema_name = $2 AND t.end_snapshot IS NULL AND s.end_snapshot IS NULL`,
    [table, schema],
  );
  const files = `ducklake_list_files(${quoteLiteral(LAKE)}, ${quoteLiteral(table)}, schema => ${quoteLiteral(schema)})`;
  return { id: Number(ids[0]?.['id']), from: locateInLake(place, name), files };
}

async function* listSources(
  session: SqlSession,
  { id, from: table, files: listed }: ListedTable,
): AsyncGenerator<ClaimedSource> {
  const ofTable = await session.all(
    `SELECT c.column_name AS "column", b.min_value AS least, b.max_value AS greatest, b.contains_null AS nulls
       FROM ${METADATA}.ducklake_table_column_stats AS b JOIN ${METADATA}.ducklake_column AS c USING (table_id, column_id)
       WHERE b.table_id = ${id} AND c.end_snapshot IS NULL`,
  );
  yield {
    from: table,
    where: 'the catalog',
    groups: [{ claims: ofTable.map(readClaim) }],
  };
  const files = await session.all(
    `SELECT f.data_file_id AS id, l.data_file AS path FROM ${listed} AS l
       JOIN ${METADATA}.ducklake_data_file AS f ON f.table_id = ${id} AND f.end_snapshot IS NULL AND ends_with(l.data_file, f.path) ORDER BY ALL`,
  );
  for (const file of files) {
    const path = String(file['path']);
    const names = await readNames(session, id, path);
    const renamed = [...names].map(
      ([inFile, column]) => `${quoteIdentifier(inFile)} AS ${quoteIdentifier(column)}`,
    );
    const from = `(SELECT ${[...renamed, 'file_row_number'].join(', ')} FROM read_parquet(${quoteLiteral(path)}, file_row_number => true, hive_partitioning => false))`;
    const ofFile = await session.all(
      `SELECT c.column_name AS "column", b.min_value AS least, b.max_value AS greatest, b.null_count AS nulls, b.value_count AS "values"
         FROM ${METADATA}.ducklake_file_column_stats AS b JOIN ${METADATA}.ducklake_column AS c USING (table_id, column_id)
         WHERE b.data_file_id = ${Number(file['id'])} AND c.end_snapshot IS NULL`,
    );
    const held = new Set(names.values());
    const ofHeld = ofFile.map(readClaim).filter(({ column }) => held.has(column));
    yield { from, where: `the catalog about ${path}`, groups: [{ claims: ofHeld }] };
    const ofGroups = await session.all(
      `SELECT row_group_id AS "group", row_group_num_rows AS rows, path_in_schema AS "column", stats_min_value AS least,
           stats_max_value AS greatest, stats_null_count AS nulls, row_group_num_rows - stats_null_count AS "values"
         FROM parquet_metadata(${quoteLiteral(path)}) ORDER BY row_group_id`,
    );
    let end = 0;
    const groups = [...Map.groupBy(ofGroups, (row) => Number(row['group'])).values()].map((rows) => ({
      claims: rows.flatMap((row) => {
        const column = names.get(String(row['column']));
        return column === undefined ? [] : [readClaim({ ...row, column })];
      }),
      end: (end += Number(rows[0]?.['rows'])),
    }));
    yield { from, where: path, groups };
  }
}

/**
 * What the columns of a file are called now, by their names in it: readers find them by the ids of fields, so that a column
 * may have been renamed since. Files without ids are read by name.
 */
async function readNames(
  session: SqlSession,
  id: number,
  path: string,
): Promise<ReadonlyMap<string, string>> {
  const rows = await session.all(
    `SELECT f.name, c.column_name AS "column" FROM parquet_schema(${quoteLiteral(path)}) AS f
       JOIN ${METADATA}.ducklake_column AS c ON c.table_id = ${id} AND c.end_snapshot IS NULL AND c.parent_column IS NULL
        AND (c.column_id = f.field_id OR f.field_id IS NULL AND c.column_name = f.name)`,
  );
  return new Map(rows.map(({ name, column }) => [String(name), String(column)]));
}

function readClaim({ column, least, greatest, nulls, values }: SqlRow): Claim {
  const toText = (value: unknown) => (typeof value === 'string' ? value : undefined);
  return {
    column: String(column),
    least: toText(least),
    greatest: toText(greatest),
    hasNulls: nulls === null || Number(nulls) > 0,
    hasValues: values === undefined || values === null || Number(values) > 0,
  };
}

/** The first column with values that are not covered, and in how many rows. */
async function countMissed(
  session: SqlSession,
  { columns }: ClaimedTable,
  { from, groups }: ClaimedSource,
): Promise<{ readonly column: string; readonly rows: number } | undefined> {
  const claimed = columns.filter(({ name }) => groups[0]?.claims.some(({ column }) => column === name));
  if (claimed.length === 0) return undefined;
  const ends = groups.slice(0, -1).map(({ end = 0 }, at) => `WHEN file_row_number < ${end} THEN ${at + 1}`);
  const group = ends.length === 0 ? '1' : `CASE ${ends.join(' ')} ELSE ${groups.length} END`;
  const counts = claimed.map((column, at) => `count_if(${describeMiss(column, groups)}) AS c${at}`);
  const [row = {}] = await session.all(
    `SELECT ${counts.join(', ')} FROM (SELECT *, ${group} AS "~group" FROM ${from})`,
  );
  const at = claimed.findIndex((_, at) => Number(row[`c${at}`]) > 0);
  const column = claimed[at]?.name;
  return column === undefined ? undefined : { column, rows: Number(row[`c${at}`]) };
}

/** SQL that is true for a value that the claim about its group does not cover. */
function describeMiss({ name, storedAs }: StoredColumn, groups: readonly ClaimedRows[]): string {
  const type = storedAs === 'JSON' ? 'VARCHAR' : storedAs;
  const value = `${quoteIdentifier(name)}::${type}`;
  const claims = groups.map(({ claims }) => claims.find(({ column }) => column === name));
  const pick = (read: (claim: Claim) => string, listType: string) =>
    `TRY_CAST([${claims.map((claim) => (claim === undefined ? 'NULL' : read(claim))).join(', ')}] AS ${listType}[])["~group"]`;
  const text = (bound: string | undefined) => (bound === undefined ? 'NULL' : quoteLiteral(bound));
  return `CASE WHEN ${value} IS NULL THEN NOT ${pick(({ hasNulls }) => String(hasNulls), 'BOOLEAN')}
    ELSE coalesce(NOT ${pick(({ hasValues }) => String(hasValues), 'BOOLEAN')}, false)
      OR coalesce(${value} < ${pick(({ least }) => text(least), type)}, false)
      OR coalesce(${value} > ${pick(({ greatest }) => text(greatest), type)}, false) END`;
}
