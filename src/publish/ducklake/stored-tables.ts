import type { Stream } from '../../model/stream.ts';
import type { SqlSession } from '../../model/sql.ts';
import { ATTACHED } from '../../warehouse/database.ts';
import { historyOf } from '../../warehouse/evolve-table.ts';
import { quoteIdentifier, quoteLiteral } from '../../warehouse/identifiers.ts';
import { chooseHuge, DATED } from '../stored-values.ts';
import type { HeldLake, LakeColumn } from './lake-state.ts';
import type { StoredSchema } from './names.ts';

/** A table of the work file, and how the lake holds it. */
export interface StoredTable {
  /** `main.items`. */
  readonly name: string;
  readonly schema: StoredSchema;
  readonly table: string;
  readonly columns: readonly LakeColumn[];
  /** The column whose days divide the rows into parts. */
  readonly datedBy: LakeColumn | undefined;
  /** SQL of its partitions; empty without. */
  readonly partitions: string;
}

/** All tables of the open work file. */
export async function listStoredTables(
  session: SqlSession,
  streams: readonly Stream[],
  held: HeldLake | undefined,
): Promise<readonly StoredTable[]> {
  const rows = await session.all(
    `SELECT schema_name AS schema, table_name AS "table", column_name AS name, data_type AS type FROM duckdb_columns()
       WHERE database_name = ${quoteLiteral(ATTACHED)} AND schema_name IN ('main', '_sluice') AND NOT internal
       ORDER BY schema_name, table_name, column_index`,
  );
  const cursors = await readCursors(session);
  const names = new Set(rows.map((row) => String(row['table'])));
  const tables: StoredTable[] = [];
  for (const [name, columns] of groupByTable(rows)) {
    const [schema = 'main', table = ''] = name.split(/\.(.*)/s) as [StoredSchema, string];
    const before = held?.tables.get(name)?.columns ?? [];
    const stored: LakeColumn[] = [];
    for (const column of columns) stored.push(await chooseStored(session, { schema, table }, column, before));
    const base = [...names].find((one) => historyOf(one) === table) ?? table;
    tables.push({ name, schema, table, columns: stored, ...divide(schema === 'main' ? stored : [], base) });
  }
  return tables;

  function divide(columns: readonly LakeColumn[], base: string): Pick<StoredTable, 'datedBy' | 'partitions'> {
    const find = (name: string | undefined) =>
      columns.find((column) => column.name === name && DATED.includes(column.type));
    const rule = streams
      .find((stream) => stream.table === base)
      ?.partitionBy?.find(({ column }) => find(column) !== undefined);
    const datedBy = find(rule?.column) ?? find(cursors.get(base));
    if (datedBy === undefined) return { datedBy, partitions: '' };
    const by = quoteIdentifier(datedBy.name);
    const depth = rule?.transform === 'day' ? ['year', 'month', 'day'] : ['year', 'month'];
    return { datedBy, partitions: depth.map((transform) => `${transform}(${by})`).join(', ') };
  }
}

type Row = Readonly<Record<string, unknown>>;
type Column = Omit<LakeColumn, 'storedAs'>;

function groupByTable(rows: readonly Row[]): ReadonlyMap<string, readonly Column[]> {
  const tables = new Map<string, Column[]>();
  for (const { schema, table, name, type } of rows) {
    const key = `${String(schema)}.${String(table)}`;
    const columns = tables.get(key) ?? [];
    if (columns.length === 0) tables.set(key, columns);
    columns.push({ name: String(name), type: String(type) });
  }
  return tables;
}

/** The cursor's column of each stream that has one. */
async function readCursors(session: SqlSession): Promise<ReadonlyMap<string, string>> {
  const rows = await session.all(
    'SELECT stream, max(cursor_field) AS field FROM _sluice.checkpoints WHERE cursor_field IS NOT NULL GROUP BY stream',
  );
  return new Map(rows.map(({ stream, field }) => [String(stream), String(field)]));
}

async function chooseStored(
  session: SqlSession,
  { schema, table }: Pick<StoredTable, 'schema' | 'table'>,
  { name, type }: Column,
  held: readonly LakeColumn[],
): Promise<LakeColumn> {
  if (type !== 'HUGEINT') return { name, type, storedAs: type };
  const before = held.find((one) => one.name === name && one.type === type)?.storedAs;
  const from = `${quoteIdentifier(schema)}.${quoteIdentifier(table)}`;
  return { name, type, storedAs: await chooseHuge(session, from, name, before) };
}
