import type { Database } from './database.ts';
import { countLiveRows } from './live-rows.ts';

/** Names of the streams' tables that have rows. Tables of versions are not among them: they follow the stream's own. */
export async function listHeldTables(database: Database): Promise<readonly string[]> {
  const tables = await database.all(
    `SELECT table_name FROM duckdb_tables() t WHERE database_name = current_database() AND schema_name = 'main'
       AND NOT EXISTS (FROM duckdb_columns() c WHERE c.database_name = t.database_name AND c.schema_name = 'main'
         AND c.table_name = t.table_name AND c.column_name = '_valid_from') ORDER BY 1`,
  );
  const held: string[] = [];
  for (const row of tables) {
    const table = String(row['table_name']);
    if ((await countLiveRows(database, table, '')) > 0) held.push(table);
  }
  return held;
}
