import { chmod, rename } from 'node:fs/promises';
import { syncFile } from '../../files/sync-to-disk.ts';
import type { DuckLakeDestination } from '../../model/destination.ts';
import { StorageError, SyncError } from '../../model/errors.ts';
import type { SqlSession } from '../../model/sql.ts';
import { ATTACHED, type Database } from '../../warehouse/database.ts';
import { quoteIdentifier } from '../../warehouse/identifiers.ts';
import { removeDatabase } from '../../warehouse/rewrite-file.ts';
import { MissingLakeError } from './describe-failure.ts';
import { type HeldTable, readHeldLake, splitName } from './lake-state.ts';
import { nameInLake } from './names.ts';
import { openLake } from './open-lake.ts';
import { readColumn } from './rows.ts';

/**
 * Opens a lake as if it was the work file: a view for each table, with the types that it has there.
 *
 * @throws PublishError for a lake that is not there, or was never published to
 */
export async function openAsWorkFile(
  lake: DuckLakeDestination,
  folders: readonly string[],
): Promise<Database> {
  const database = await openLake(lake, {
    mode: 'read',
    folders,
    prepare: async (session) => {
      for (const { name, select } of await listSelects(session, lake))
        await session.run(`CREATE VIEW ${name} AS ${select}`);
    },
  });
  if (database === undefined) throw new MissingLakeError(lake);
  return database;
}

/**
 * Creates a work file with everything that is published, whole or not at all.
 *
 * @throws StorageError for what cannot be read
 */
export async function restoreFromLake(
  lake: DuckLakeDestination,
  file: string,
  spillFolder: string,
): Promise<void> {
  const temporary = `${file}.restore`;
  await removeDatabase(temporary);
  try {
    const database = await openLake(lake, {
      mode: 'read',
      file: temporary,
      writesFile: true,
      folders: [spillFolder],
    });
    if (database === undefined) throw new MissingLakeError(lake);
    try {
      await chmod(temporary, 0o600);
      await database.transaction(async () => {
        await database.run('CREATE SCHEMA _sluice');
        for (const { name, columns, select } of await listSelects(database, lake)) {
          await database.run(`CREATE TABLE ${name} (${columns})`);
          await database.run(`INSERT INTO ${name} ${select}`);
        }
      });
      await database.checkpoint();
    } finally {
      await database.release();
    }
    await syncFile(temporary);
    await rename(temporary, file);
  } catch (error) {
    throw new StorageError(`cannot restore the state from ${lake.path}: ${(error as Error).message}`, {
      code: 'storage_failed',
      hint: `${error instanceof SyncError ? error.hint : 'Fix the cause and run again.'} Nothing is lost.`,
      context: { path: lake.path },
      cause: error,
    });
  } finally {
    await removeDatabase(temporary);
  }
}

/** A table of the lake as SQL of the work file. */
interface TableSelect {
  readonly name: string;
  readonly columns: string;
  readonly select: string;
}

async function listSelects(session: SqlSession, lake: DuckLakeDestination): Promise<readonly TableSelect[]> {
  const held = await readHeldLake(session, lake);
  if (held === undefined) throw new MissingLakeError(lake);
  await session.run(`CREATE SCHEMA IF NOT EXISTS ${quoteIdentifier(ATTACHED)}._sluice`);
  return [...held.tables].map(([name, table]) => describeSelect(lake, name, table));
}

function describeSelect({ schema }: DuckLakeDestination, name: string, { columns }: HeldTable): TableSelect {
  const [stored, table] = splitName(name);
  const values = columns.map((column) => `${readColumn(column)} AS ${quoteIdentifier(column.name)}`);
  return {
    name: [ATTACHED, stored, table].map(quoteIdentifier).join('.'),
    columns: columns.map((column) => `${quoteIdentifier(column.name)} ${column.type}`).join(', '),
    select: `SELECT ${values.join(', ')} FROM ${nameInLake(schema, stored, table)}`,
  };
}
