import { join } from 'node:path';
import { BugError, PublishError } from '../../model/errors.ts';
import { LAKE_CATALOG } from '../../model/lake.ts';
import type { SqlSession } from '../../model/sql.ts';
import { quoteLiteral } from '../../warehouse/identifiers.ts';
import { type CatalogTable, generationFolder } from '../../warehouse/lake-entry.ts';
import { findDamagedFile } from '../../warehouse/lake-losses.ts';
import { describeReaders } from './describe-failure.ts';

type FiledTable = Pick<CatalogTable, 'table' | 'generation' | 'files'>;

/**
 * The first Parquet file with other bytes than were written, or that cannot be read, for a failed statement over many
 * files: not every engine error names the file, and each file may be readable by itself. Undefined if there is none.
 */
export async function findUnreadable(
  session: SqlSession,
  lake: string,
  tables: readonly FiledTable[],
): Promise<string | undefined> {
  for (const { table, generation, files } of tables) {
    const changed = await findDamagedFile(generationFolder(lake, table, generation), files).catch(
      () => undefined,
    );
    if (changed !== undefined) return changed;
  }
  // Not if the session is no longer usable.
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

/** What makes a damaged file whole again where the state is in the state folder. */
export function adviseOnDamage(lake: string): string {
  return `Move this file and ${join(lake, LAKE_CATALOG)} away and run sluice sync: both are written again, without a request for fresh streams.`;
}

/** The damaged file for which a statement failed; undefined where another cause is likelier. */
export async function findDamage(
  session: SqlSession,
  lake: string,
  tables: readonly FiledTable[],
  thrown: unknown,
): Promise<string | undefined> {
  return thrown instanceof BugError ? findUnreadable(session, lake, tables) : undefined;
}

/** The error of a publish that met a damaged file; `hasFlipped` says whether readers may already see the new rows. */
export function describeDamage(
  lake: string,
  path: string,
  { hasFlipped, cause }: { readonly hasFlipped: boolean; readonly cause: unknown },
): PublishError {
  return new PublishError(`cannot publish the lake ${lake}: ${path} is damaged`, {
    code: 'publish_failed',
    hint: `${adviseOnDamage(lake)} Everything synced is committed in the state folder. ${describeReaders(hasFlipped)}`,
    context: { path },
    cause,
  });
}

async function canRun(session: SqlSession, sql: string): Promise<boolean> {
  return session.all(sql).then(
    () => true,
    () => false,
  );
}
