import type { Database } from './database.ts';
import { quoteIdentifier } from './identifiers.ts';

/**
 * Reads every value of the tables once to find damaged blocks before they are needed: the engine checks a block only
 * when it reads it. With `_sluice`, only that schema is read.
 *
 * @throws DamagedFileError
 */
export async function checkReadable(database: Database, onlySchema?: '_sluice'): Promise<void> {
  const tables = await database.all(
    `SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = current_database() AND NOT internal`,
  );
  const own: string[] = [];
  for (const { schema_name: schema, table_name: table } of tables) {
    if (onlySchema !== undefined && schema !== onlySchema) continue;
    const name = `${quoteIdentifier(String(schema))}.${quoteIdentifier(String(table))}`;
    const sql = `SELECT bit_xor(hash("every value")) FROM ${name} AS "every value"`;
    if (schema === '_sluice') own.push(sql);
    else await database.all(sql);
  }
  // The tables are small: one statement is faster than nine.
  if (own.length > 0) await database.all(own.join(' UNION ALL '));
}
