import { existsSync } from 'node:fs';
import { writeDatabase } from '../../warehouse/rewrite-file.ts';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { PublishError, StorageError } from '../../model/errors.ts';
import { LAKE_CATALOG } from '../../model/lake.ts';
import { readComments, toWanted, writeComments } from '../../warehouse/comments.ts';
import { Database } from '../../warehouse/database.ts';
import { quoteIdentifier, quoteLiteral } from '../../warehouse/identifiers.ts';
import {
  type CatalogTable,
  generationFolder,
  LAKE_ENTRY,
  readLakeEntry,
} from '../../warehouse/lake-entry.ts';
import { selectRows } from '../../warehouse/select-lake.ts';
import { refuseHiddenColumns } from './path-columns.ts';
import { describeFiles } from './inspect-lake.ts';
import { findWrongRows, measureRows } from './prove-rows.ts';
import { findUnreadable } from './unreadable-file.ts';
import { RELOAD } from '../../text/reload-advice.ts';

/** Files or values of a lake are missing: restoring from it would lose them for good. */
class IncompleteLakeError extends StorageError {}

/**
 * Restores a work file from a lake: the state from `lake.duckdb`, the rows from the Parquet files, with their
 * original types. `file` is created completely or not at all.
 *
 * @throws StorageError for a lake that cannot be read, or whose files or rows differ from those published
 */
export async function restoreFromLake(lake: string, file: string, spillFolder: string): Promise<void> {
  try {
    await writeDatabase(file, `${file}.restore`, async (temporary) => {
      const database = await Database.open({ file: temporary, folders: [spillFolder, lake] });
      try {
        await chmod(temporary, 0o600);
        await copyLake(database, lake);
        await database.checkpoint();
      } finally {
        await database.release();
      }
    });
  } catch (error) {
    if (error instanceof IncompleteLakeError || error instanceof PublishError) throw error;
    throw new StorageError(`cannot restore the state from ${lake}: ${(error as Error).message}`, {
      code: 'storage_failed',
      hint: `Fix the cause (permissions, disk space) and run again; or restore a backup of the lake. If it is lost, move it aside: ${RELOAD}`,
      context: { path: lake },
      cause: error,
    });
  }
}

async function copyLake(database: Database, lake: string): Promise<void> {
  await database.run(`ATTACH ${quoteLiteral(join(lake, LAKE_CATALOG))} AS held (READ_ONLY)`);
  const state = await database.all(
    `SELECT table_name FROM duckdb_tables() WHERE database_name = 'held' AND schema_name = '_sluice' ORDER BY 1`,
  );
  await database.run('CREATE SCHEMA _sluice');
  for (const { table_name: name } of state) {
    const table = `_sluice.${quoteIdentifier(String(name))}`;
    await database.run(`CREATE TABLE ${table} AS FROM held.${table}`);
  }
  const comments = toWanted(await readComments(database, { database: 'held' }).catch(() => []));
  await database.run('DETACH held');
  const tables = await readLakeEntry(database);
  await database.run('DELETE FROM _sluice.meta WHERE key = $1', [LAKE_ENTRY]);
  const problems = tables.flatMap((table) => describeLosses(lake, table));
  if (problems.length > 0) throw toIncompleteError(lake, problems);
  for (const table of tables) {
    const files = `${generationFolder(lake, table.table, table.generation)}/**/*.parquet`;
    const source = `read_parquet(${quoteLiteral(files)}, hive_partitioning = false)`;
    if (table.files.length > 0) await refuseHiddenColumns(database, lake, { ...table, source });
  }
  for (const one of tables) {
    const table = `main.${quoteIdentifier(one.table)}`;
    const columns = one.columns.map(({ name, type }) => `${quoteIdentifier(name)} ${type}`);
    await database.run(`CREATE TABLE ${table} (${columns.join(', ')})`);
    await database.run(`INSERT INTO ${table} ${selectRows(lake, one)}`).catch(async (error: unknown) => {
      const path = await findUnreadable(database, lake, [one]);
      throw path === undefined ? error : toIncompleteError(lake, [`${path}: damaged`], error);
    });
    const wrong = await findWrongRows(database, lake, one, await measureRows(database, table));
    if (wrong !== undefined) throw toIncompleteError(lake, [wrong]);
  }
  await writeComments(database, comments);
}

/** How a table's files differ from what was published. */
function describeLosses(lake: string, { table, generation, files }: CatalogTable): readonly string[] {
  const folder = generationFolder(lake, table, generation);
  return existsSync(folder) ? describeFiles(folder, folder, files) : [`${folder}: missing`];
}

function toIncompleteError(lake: string, problems: readonly string[], cause?: unknown): IncompleteLakeError {
  return new IncompleteLakeError(
    `the state cannot be restored: the lake ${lake} is incomplete (${problems.join('; ')})`,
    {
      code: 'state_damaged',
      hint: `Restore missing or damaged files from a backup of the lake, move away files that are not in the manifest, and run again. Without a backup, move the whole lake away: ${RELOAD} Nothing was requested.`,
      context: { path: lake },
      cause,
    },
  );
}
