import type { SchemaChange } from '../model/run-report.ts';
import type { ColumnType } from '../model/schema.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';
import type { Database } from './database.ts';
import { quoteIdentifier } from './identifiers.ts';

/** Columns of ours at the end of every table. */
const OWN_COLUMNS = ['_run_id VARCHAR', '_synced_at TIMESTAMPTZ'] as const;

/** Qualified, quoted name of a stream's table. */
export function tableName(table: string): string {
  return `main.${quoteIdentifier(table)}`;
}

/** Whether a stream's table exists. */
export async function tableExists(database: Database, table: string): Promise<boolean> {
  const rows = await database.all(
    `SELECT 1 FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = 'main' AND table_name = $1`,
    [table],
  );
  return rows.length > 0;
}

/** Changes the table to the planned columns; call first in the transaction, as an ALTER must precede other changes. */
export async function evolveTable(
  database: Database,
  table: string,
  columns: readonly ColumnPlan[],
  exists: boolean,
): Promise<readonly SchemaChange[]> {
  const stored = columns.filter(({ type }) => type !== 'NULL');
  if (!exists) {
    const definitions = [
      ...stored.map(({ name, type }) => `${quoteIdentifier(name)} ${type}`),
      ...OWN_COLUMNS,
    ];
    await database.run(`CREATE TABLE ${tableName(table)} (${definitions.join(', ')})`);
    return stored.map(({ name, type }) => ({
      column: name,
      change: 'added',
      fromType: undefined,
      toType: type,
    }));
  }
  const changes: SchemaChange[] = [];
  for (const { name, type, existingType } of stored) {
    const column = quoteIdentifier(name);
    if (existingType === undefined || existingType === 'NULL') {
      await database.run(`ALTER TABLE ${tableName(table)} ADD COLUMN ${column} ${type}`);
      changes.push({ column: name, change: 'added', fromType: undefined, toType: type });
    } else if (existingType !== type) {
      await database.run(`ALTER TABLE ${tableName(table)} ALTER COLUMN ${column} SET DATA TYPE ${type}`);
      changes.push({ column: name, change: 'widened', fromType: existingType, toType: type });
    }
  }
  return changes;
}

/** Whether every value of a column is the same after a cast there and back. */
export async function survivesCast(
  database: Database,
  table: string,
  column: string,
  from: ColumnType,
  to: ColumnType,
): Promise<boolean> {
  const name = quoteIdentifier(column);
  const lost = await database.count(
    `SELECT count(*) FROM ${tableName(table)} WHERE ${name} IS NOT NULL
       AND TRY_CAST(TRY_CAST(${name} AS ${to}) AS ${from}) IS DISTINCT FROM ${name}`,
  );
  return lost === 0;
}
