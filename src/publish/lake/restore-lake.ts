import { existsSync } from 'node:fs';
import { chmod, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { StorageError } from '../../model/errors.ts';
import { formatCount, formatCountOf } from '../../model/format-count.ts';
import { LAKE_CATALOG } from '../../model/lake.ts';
import { Database } from '../../warehouse/database.ts';
import { quoteIdentifier, quoteLiteral } from '../../warehouse/identifiers.ts';
import { type CatalogTable, LAKE_ENTRY, selectRows } from './catalog.ts';
import { generationFolder, syncFile } from './folders.ts';
import { describeFiles } from './inspect-lake.ts';
import { findUnreadable } from './unreadable-file.ts';

const heldSchema = z.array(
  z.object({
    table: z.string(),
    generation: z.string(),
    columns: z.array(
      z.object({ name: z.string(), type: z.string(), storedAs: z.string(), fieldId: z.int().optional() }),
    ),
    partitionBy: z.array(
      z.object({
        folder: z.string(),
        column: z.string(),
        transform: z.enum(['identity', 'year', 'month', 'day']),
        type: z.string(),
      }),
    ),
    files: z.array(z.object({ path: z.string(), rows: z.int(), bytes: z.int() })),
  }),
);

/** A lake without files, or rows, that it must have: a state made of it would lack them for good. */
class IncompleteLakeError extends StorageError {}

/**
 * Makes a work file of what a lake holds: its state from `lake.duckdb`, the rows from the Parquet files, with
 * the types they had. `file` is whole or not there.
 *
 * @throws StorageError for a lake that cannot be read, or that lacks a file or a row of what was published
 */
export async function restoreFromLake(lake: string, file: string, spillFolder: string): Promise<void> {
  const temporary = `${file}.restore`;
  await removeDatabase(temporary);
  try {
    const database = await Database.open({ file: temporary, folders: [spillFolder, lake] });
    try {
      await chmod(temporary, 0o600);
      await copyLake(database, lake);
      await database.checkpoint();
    } finally {
      await database.release();
    }
    await syncFile(temporary);
    await rename(temporary, file);
  } catch (error) {
    if (error instanceof IncompleteLakeError) throw error;
    throw new StorageError(`cannot restore the state from ${lake}: ${(error as Error).message}`, {
      code: 'storage_failed',
      hint: `Mend the cause (permissions, space) and run again; or restore a backup of the lake. If it is lost, move it aside: the next sync reads everything from the API.`,
      context: { path: lake },
      cause: error,
    });
  } finally {
    await removeDatabase(temporary);
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
  await database.run('DETACH held');
  const [entry] = await database.all('SELECT value FROM _sluice.meta WHERE key = $1', [LAKE_ENTRY]);
  const tables: readonly CatalogTable[] = heldSchema.parse(JSON.parse(String(entry?.['value'])));
  await database.run('DELETE FROM _sluice.meta WHERE key = $1', [LAKE_ENTRY]);
  const problems = tables.flatMap((table) => describeLosses(lake, table));
  if (problems.length > 0) throw refuseIncomplete(lake, problems);
  for (const one of tables) {
    const table = `main.${quoteIdentifier(one.table)}`;
    const columns = one.columns.map(({ name, type }) => `${quoteIdentifier(name)} ${type}`);
    await database.run(`CREATE TABLE ${table} (${columns.join(', ')})`);
    await database.run(`INSERT INTO ${table} ${selectRows(lake, one)}`).catch(async (error: unknown) => {
      const path = await findUnreadable(database, lake, [one]);
      throw path === undefined ? error : refuseIncomplete(lake, [`${path}: damaged`], error);
    });
    const rows = await database.count(`SELECT count(*) FROM ${table}`);
    const wanted = one.files.reduce((sum, file) => sum + file.rows, 0);
    if (rows !== wanted) throw refuseIncomplete(lake, [await describeRows(database, lake, one, rows)]);
  }
}

/** What of a table's files is not as it was published. */
function describeLosses(lake: string, { table, generation, files }: CatalogTable): readonly string[] {
  const folder = generationFolder(lake, table, generation);
  return existsSync(folder) ? describeFiles(folder, folder, files) : [`${folder}: missing`];
}

async function describeRows(
  database: Database,
  lake: string,
  { table, generation, files }: CatalogTable,
  rows: number,
): Promise<string> {
  const folder = generationFolder(lake, table, generation);
  for (const file of files) {
    const path = join(folder, file.path);
    const held = await database.count(`SELECT num_rows FROM parquet_file_metadata(${quoteLiteral(path)})`);
    if (held !== file.rows)
      return `${path}: ${formatCountOf(held, 'row')} instead of ${formatCount(file.rows)}`;
  }
  return `${folder}: ${formatCountOf(rows, 'row')} instead of those of its ${formatCountOf(files.length, 'file')}`;
}

function refuseIncomplete(lake: string, problems: readonly string[], cause?: unknown): IncompleteLakeError {
  return new IncompleteLakeError(
    `the state cannot be restored: the lake ${lake} is not whole (${problems.join('; ')})`,
    {
      code: 'state_damaged',
      hint: 'Put what is missing or damaged back from a backup of the lake, move away what is not in the manifest, and run again. Without a backup, move the whole lake away: the next sync reads everything from the API. Nothing was requested.',
      context: { path: lake },
      cause,
    },
  );
}

async function removeDatabase(file: string): Promise<void> {
  for (const name of [file, `${file}.wal`]) if (existsSync(name)) await rm(name, { force: true });
}
