import { nameScan } from '../model/stream.ts';
import type { Database } from './database.ts';
import { tableName } from './evolve-table.ts';
import { NOT_FIRST } from './first-table.ts';
import { readScope } from './live-rows.ts';

/** A part of a stream's table that has rows: those of a slice, or those without one (`''`). */
export interface HeldScan {
  readonly stream: string;
  readonly slice: string;
  /** `nameScan` of both. */
  readonly name: string;
}

/** What the streams' tables hold, without their history tables, which follow them. */
export async function listHeldScans(database: Database): Promise<readonly HeldScan[]> {
  const tables = await database.all(
    `SELECT table_name FROM duckdb_tables() t WHERE database_name = current_database() AND schema_name = 'main'
       AND ${NOT_FIRST} AND NOT EXISTS (FROM duckdb_columns() c WHERE c.database_name = t.database_name AND c.schema_name = 'main'
         AND c.table_name = t.table_name AND c.column_name = '_valid_from') ORDER BY 1`,
  );
  const held: HeldScan[] = [];
  for (const row of tables) held.push(...(await listScansOf(database, String(row['table_name']))));
  return held;
}

/** What one stream's table holds. */
export async function listScansOf(database: Database, stream: string): Promise<readonly HeldScan[]> {
  const { live, isSliced } = await readScope(database, stream, '');
  const rows = await database.all(
    `SELECT DISTINCT ${isSliced ? "coalesce(t._slice, '')" : "''"} AS slice FROM ${tableName(stream)} t WHERE ${live} ORDER BY 1`,
  );
  return rows.map((row) => {
    const slice = String(row['slice']);
    return { stream, slice, name: nameScan(stream, slice) };
  });
}
