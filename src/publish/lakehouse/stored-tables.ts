import { readCheckpoints } from '../../../state/checkpoints.ts';
import type { Stream } from '../../model/stream.ts';
import type { SqlSession } from '../../model/sql.ts';
import { ATTACHED } from '../../warehouse/database-options.ts';
import { historyOf } from '../../warehouse/evolve-table.ts';
import { quoteIdentifier, quoteLiteral } from '../../warehouse/identifiers.ts';
import { chooseHuge, DATED } from '../stored-values.ts';
import type { HeldTables } from './held-tables.ts';
import type { Lakehouse, StoredColumn, StoredTable } from './lakehouse.ts';
import { splitName } from './names.ts';

/** All tables of the open work file, as a lakehouse is to hold them. */
export async function listStoredTables(
  session: SqlSession,
  lakehouse: Lakehouse,
  { streams, held }: { readonly streams: readonly Stream[]; readonly held: HeldTables | undefined },
): Promise<readonly StoredTable[]> {
  const rows = await session.all(
    `SELECT schema_name AS schema, table_name AS "table", column_name AS name, data_type AS type FROM duckdb_columns()
       WHERE database_name = ${quoteLiteral(ATTACHED)} AND schema_name IN ('main', '_sluice') AND NOT internal
       ORDER BY schema_name, table_name, column_index`,
  );
  const checkpoints = await readCheckpoints(session);
  const names = new Set(rows.map((row) => String(row['table'])));
  const tables: StoredTable[] = [];
  for (const [name, columns] of groupByTable(rows)) {
    const [schema, table] = splitName(name);
    const before = held?.tables.get(name)?.columns ?? [];
    const stored: StoredColumn[] = [];
    for (const column of columns) {
      const { name: columnName, type } = column;
      const heldAs = before.find((one) => one.name === columnName && one.type === type)?.storedAs;
      const isHuge = type === 'HUGEINT' && lakehouse.holdsHuge !== true;
      const storedAs = isHuge
        ? await chooseHuge(
            session,
            `${quoteIdentifier(schema)}.${quoteIdentifier(table)}`,
            columnName,
            heldAs,
          )
        : lakehouse.chooseType(type);
      stored.push({ ...column, storedAs });
    }
    const base = [...names].find((one) => historyOf(one) === table) ?? table;
    tables.push({ name, schema, table, columns: stored, ...divide(schema === 'main' ? stored : [], base) });
  }
  return tables;

  function divide(
    columns: readonly StoredColumn[],
    base: string,
  ): Pick<StoredTable, 'datedBy' | 'partitions'> {
    const find = (name: string | undefined) =>
      columns.find((column) => column.name === name && DATED.includes(column.type));
    const stream = streams.find((one) => one.table === base);
    const rule = stream?.partitionBy?.find(({ column }) => find(column) !== undefined);
    const cursor = checkpoints.find(
      (one) => one.stream === (stream?.name ?? base) && one.cursorField !== undefined,
    );
    const datedBy = find(rule?.column) ?? find(cursor?.cursorField);
    if (datedBy === undefined) return { datedBy, partitions: '' };
    const by = quoteIdentifier(datedBy.name);
    if (!lakehouse.isPartitioned) return { datedBy, partitions: '' };
    const depth = rule?.transform === 'day' ? ['year', 'month', 'day'] : ['year', 'month'];
    return { datedBy, partitions: depth.map((transform) => `${transform}(${by})`).join(', ') };
  }
}

type Row = Readonly<Record<string, unknown>>;
type Column = Omit<StoredColumn, 'storedAs'>;

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
