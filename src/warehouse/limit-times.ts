import type { Database } from './database.ts';
import { quoteIdentifier } from './identifiers.ts';

/** Sluice's own time columns by table; in streams' tables, those that begin with `_`. */
const OWN = ['_synced_at', '_deleted_at', '_valid_from', '_valid_to'];

/**
 * Sets all recorded times after `limit` (ISO) to `limit`: of rows, versions and runs. Returns their number. Times of
 * checkpoints stay: set to now, they would prove what was not read. Call inside a transaction.
 */
export async function limitTimes(database: Database, limit: string): Promise<number> {
  const columns = await database.all(
    `SELECT schema_name, table_name, column_name FROM duckdb_columns()
     WHERE database_name = current_database() AND data_type = 'TIMESTAMP WITH TIME ZONE'
       AND ((schema_name = '_sluice' AND table_name <> 'checkpoints') OR (schema_name = 'main' AND column_name IN (${OWN.map((name) => `'${name}'`).join(', ')})))
     ORDER BY ALL`,
  );
  let total = 0;
  for (const row of columns) {
    const [schema = '', table = '', column = ''] = ['schema_name', 'table_name', 'column_name'].map((name) =>
      quoteIdentifier(String(row[name])),
    );
    const later = `${column} > $1::TIMESTAMPTZ`;
    const count = await database.count(`SELECT count(*) FROM ${schema}.${table} WHERE ${later}`, [limit]);
    if (count > 0)
      await database.run(`UPDATE ${schema}.${table} SET ${column} = $1::TIMESTAMPTZ WHERE ${later}`, [limit]);
    total += count;
  }
  return total;
}
