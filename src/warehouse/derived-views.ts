import type { SqlSession } from '../model/sql.ts';
import { LAKE_ENTRY, readLakeEntry } from './lake-entry.ts';

/**
 * The views that were made of the tables of a published file, by their names with their schema: `main.items_latest`. In
 * the file of a lake, the tables themselves are views as well, and are not among them; nor are they where a lakehouse is
 * open as if it was a file.
 *
 * @param prefix what comes before the schema in SQL, if the file is not the current database: `"acme".`
 */
export async function listDerivedViews(session: SqlSession, prefix = ''): Promise<ReadonlySet<string>> {
  const database = prefix === '' ? [] : [prefix.slice(1, -2).replaceAll('""', '"')];
  const rows = await session.all(
    `SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = ${prefix === '' ? 'current_database()' : '$1'}
       AND schema_name IN ('main', '_sluice') AND NOT internal`,
    database,
  );
  const views = new Set(rows.map((row) => `${String(row['schema_name'])}.${String(row['view_name'])}`));
  if (views.size === 0 || views.has('_sluice.meta')) return new Set();
  const entries = await session.all(`SELECT 1 FROM ${prefix}_sluice.meta WHERE key = $1`, [LAKE_ENTRY]);
  const tables = entries.length === 0 ? [] : await readLakeEntry(session, prefix);
  for (const { table } of tables) views.delete(`main.${table}`);
  return views;
}
