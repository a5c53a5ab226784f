import { join } from 'node:path';
import type { SqlSession } from '../../model/sql.ts';
import { quoteLiteral } from '../../warehouse/identifiers.ts';
import { type CatalogTable, generationFolder } from '../../warehouse/lake-entry.ts';

/**
 * The first unreadable Parquet file, for a failed statement over many files: not every engine error names the file.
 * Undefined if all are readable, or if the session is no longer usable.
 */
export async function findUnreadable(
  session: SqlSession,
  lake: string,
  tables: readonly Pick<CatalogTable, 'table' | 'generation' | 'files'>[],
): Promise<string | undefined> {
  if (!(await canRun(session, 'SELECT 1'))) return undefined;
  for (const { table, generation, files } of tables) {
    for (const file of files) {
      const path = join(generationFolder(lake, table, generation), file.path);
      const source = `read_parquet(${quoteLiteral(path)}, hive_partitioning = false)`;
      if (!(await canRun(session, `SELECT sum(hash("every value")) FROM ${source} AS "every value"`)))
        return path;
    }
  }
  return undefined;
}

async function canRun(session: SqlSession, sql: string): Promise<boolean> {
  return session.all(sql).then(
    () => true,
    () => false,
  );
}
