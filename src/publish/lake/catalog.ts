import { existsSync, statSync } from 'node:fs';
import { removeDatabase } from '../../warehouse/rewrite-file.ts';
import { chmod, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFile, syncFolder } from '../../files/sync-to-disk.ts';
import { StorageError } from '../../model/errors.ts';
import { LAKE_CATALOG } from '../../model/lake.ts';
import { readComments, toWanted, writeComments } from '../../warehouse/comments.ts';
import { addViewsToFile } from '../../views/add-views.ts';
import { type FileMark, fingerprintFile } from '../../warehouse/fingerprint-file.ts';
import { quoteIdentifier, quoteLiteral } from '../../warehouse/identifiers.ts';
import { type CatalogTable, LAKE_ENTRY } from '../../warehouse/lake-entry.ts';
import { selectRows } from '../../warehouse/select-lake.ts';
import { hideName } from '../holder-mark.ts';
import { readMode } from '../put-in-place.ts';
import type { LakeJob } from './lake-job.ts';
import type { TableManifest } from './manifest.ts';

const ATTACHED = 'lake_catalog';
/**
 * Writes a new `lake.duckdb` and replaces the old one. It has a view for each table over the files of one generation,
 * and a copy of the work file's `_sluice` tables.
 *
 * @returns what the manifest records about the file, so that damage is found without opening it
 */
export async function publishCatalog(
  job: LakeJob,
  tables: readonly TableManifest[],
): Promise<FileMark & { readonly size: number }> {
  const path = join(job.lake, LAKE_CATALOG);
  const temporary = join(job.lake, hideName(LAKE_CATALOG, job.lease));
  await removeDatabase(temporary);
  await job.session.run(`ATTACH ${quoteLiteral(temporary)} AS ${ATTACHED} (STORAGE_VERSION 'v1.4.0')`);
  try {
    await copyState(job, tables);
    for (const table of tables) {
      await job.session.run(
        `CREATE VIEW ${ATTACHED}.main.${quoteIdentifier(table.table)} AS ${selectRows(job.lake, table)}`,
      );
    }
    // The rows come from the tables of the same names.
    await writeComments(job.session, toWanted(await readComments(job.session)), { database: ATTACHED });
    await job.session.run(`CHECKPOINT ${ATTACHED}`);
  } catch (error) {
    // On a full disk it would take space from the next attempt.
    await removeDatabase(temporary).catch(() => undefined);
    throw error;
  } finally {
    await job.session.run(`DETACH ${ATTACHED}`);
  }
  await addViewsToFile(temporary, { warn: job.warn }, [job.lake]);
  if (existsSync(`${temporary}.wal`)) {
    throw new StorageError(`${temporary} was not written completely`, {
      code: 'storage_failed',
      hint: 'Run again: committed data is safe and will be published then.',
      context: { path: temporary },
    });
  }
  await chmod(temporary, await readMode(path));
  await syncFile(temporary);
  const mark = { size: statSync(temporary).size, fingerprint: await fingerprintFile(temporary) };
  await job.lease?.confirm();
  // A write-ahead log next to the old file belongs to that file.
  await rm(`${path}.wal`, { force: true });
  await rename(temporary, path);
  await syncFolder(job.lake);
  return mark;
}

async function copyState({ session }: LakeJob, tables: readonly TableManifest[]): Promise<void> {
  const found = await session.all(
    `SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = '_sluice' ORDER BY 1`,
  );
  await session.run(`CREATE SCHEMA ${ATTACHED}._sluice`);
  for (const { table_name: name } of found) {
    const table = `_sluice.${quoteIdentifier(String(name))}`;
    await session.run(`CREATE TABLE ${ATTACHED}.${table} AS FROM ${table}`);
  }
  const held = tables.map(({ table, generation, columns, partitionBy, files, hashes }): CatalogTable => ({
    table,
    generation,
    columns,
    partitionBy,
    files: files.map(({ path, rows, bytes, fingerprint, crc32 }) => ({
      path,
      rows,
      bytes,
      fingerprint,
      crc32,
    })),
    hashes,
  }));
  await session.run(`INSERT INTO ${ATTACHED}._sluice.meta VALUES ($1, $2)`, [
    LAKE_ENTRY,
    JSON.stringify(held),
  ]);
}
