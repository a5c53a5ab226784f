import type { Database } from './database.ts';
import { listDerivedViews } from './derived-views.ts';
import { NOT_FIRST } from './first-table.ts';
import { quoteIdentifier } from './identifiers.ts';

/** A checksum of a table's rows that does not depend on their order. */
export interface TableFingerprint {
  /** `main.items`. */
  readonly name: string;
  /** Names and types, in order. */
  readonly columns: string;
  readonly rows: number;
  readonly sum: string;
}

/**
 * Computes the fingerprints of all tables, reading every value once.
 *
 * @param only for a table by its name, the condition in SQL of the rows that count
 */
export async function fingerprintTables(
  database: Database,
  only: Readonly<Record<string, string>> = {},
): Promise<ReadonlyMap<string, TableFingerprint>> {
  const tables = await database.all(
    `SELECT schema_name AS schema, table_name AS table, list(column_name || ' ' || data_type ORDER BY column_index)::JSON AS columns
       FROM duckdb_columns() WHERE database_name = current_database() AND schema_name IN ('main', '_sluice') AND NOT internal
         AND ${NOT_FIRST}
       GROUP BY ALL ORDER BY ALL`,
  );
  const views = await listDerivedViews(database);
  const found = new Map<string, TableFingerprint>();
  for (const { schema, table, columns } of tables) {
    const name = `${String(schema)}.${String(table)}`;
    if (views.has(name)) continue;
    const [row] = await database.all(
      `SELECT count(*) AS n, coalesce(sum(hash("every value")), 0)::VARCHAR AS sum
         FROM ${quoteIdentifier(String(schema))}.${quoteIdentifier(String(table))} AS "every value"
         WHERE ${only[name] ?? 'true'}`,
    );
    found.set(name, { name, columns: String(columns), rows: Number(row?.['n']), sum: String(row?.['sum']) });
  }
  return found;
}
