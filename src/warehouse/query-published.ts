import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { ConfigError, LockedError, StorageError } from '../model/errors.ts';
import { LAKE_CATALOG, LAKE_MANIFEST } from '../model/lake.ts';
import type { OfflineSettings } from '../model/settings.ts';
import type { QueryResult } from '../model/reports.ts';
import { assertSelects } from './assert-selects.ts';
import { answerQuery, type QueryOptions, type StreamOptions } from './answer-query.ts';
import { collectRows } from './collect-rows.ts';
import { Database } from './database.ts';
import { readColumnsOf } from './evolve-table.ts';
import { LAKE_ENTRY } from './lake-entry.ts';
import { isMoved, MOVED, MOVED_FIX } from './moved-lake.ts';
import { findLakeLosses, type LossSearch, mayRead } from './lake-losses.ts';

const OVER_A_LAKE = {
  what: 'query over a lake',
  instead: 'for anything else open lake.duckdb read-only in a DuckDB program.',
};
const OVER_A_FILE = {
  what: 'this query',
  instead: 'for anything else open the published file read-only in a DuckDB program.',
};

/**
 * Runs one SQL statement over the published file, read-only and without access to any other file. Values are returned
 * as JSON-safe scalars; numbers that a double cannot hold are text. The signal interrupts a running statement.
 *
 * @throws ConfigError `query_failed` (2) for bad SQL or a missing file; the signal's own error.
 */
export async function queryPublished(
  path: string,
  sql: string,
  { maxRows = Infinity, ...options }: QueryOptions = {},
): Promise<QueryResult> {
  const { take, collected } = collectRows(maxRows);
  await streamPublished(path, sql, { ...options, take });
  return collected();
}

/**
 * The same with rows that are taken as they are read: memory does not grow with them. Those before an error are
 * taken already.
 */
export async function streamPublished(path: string, sql: string, options: StreamOptions): Promise<void> {
  const database = await openPublished(path, nameDatabase(path));
  try {
    await answerQuery(database, sql, options, async ({ onlyReads }) => {
      // The engine has access to the lake's files for its views, so writes must be rejected.
      if (lakeOf(path) !== undefined) await assertSelects(database, sql, { onlyReads, ...OVER_A_LAKE });
      else if (options.onlySelects === true)
        await assertSelects(database, sql, { onlyReads, ...OVER_A_FILE });
      await assertLakeHas(database, path, { isWanted: (table) => mayRead(sql, table) });
    });
  } catch (error) {
    const lake = error instanceof ConfigError ? lakeOf(path) : undefined;
    // The engine names a file that it may not read.
    throw lake !== undefined && (await isMoved(database, lake)) ? describeMoved(lake) : error;
  } finally {
    await database.release();
  }
}

/** Rejects a lake with missing or damaged files: its views would return what rows they find without an error. */
export async function assertLakeHas(database: Database, path: string, search: LossSearch): Promise<void> {
  const lake = lakeOf(path);
  const losses = lake === undefined ? [] : await findLakeLosses(database, lake, search);
  if (lake === undefined || losses.length === 0) return;
  throw new StorageError(
    `the lake ${lake} is incomplete or damaged, so rows would be missing or wrong (${losses.map(({ text }) => text).join('; ')})`,
    {
      code: 'state_damaged',
      hint: '`sluice verify` shows how to repair it. If a sync was publishing at that moment, run the command again. Nothing was changed.',
      context: { path: lake },
    },
  );
}

/** Opens a file for reading; `lake.duckdb` is opened with access to the lake's files. */
export async function openForReading(
  file: string,
  folders: readonly string[],
  alias?: string,
): Promise<Database> {
  const lake = lakeOf(file);
  const views = lake === undefined ? [] : [lake];
  return Database.open({ file, readOnly: true, isPublished: true, folders, views, alias });
}

/**
 * The database name that DuckDB programs use for a file, so that `warehouse.main.prompts` works here as well;
 * undefined for names reserved by the engine.
 */
export function nameDatabase(path: string): string | undefined {
  const name = basename(path)
    .split('.')
    .find((part) => part !== '');
  if (name === undefined || name.toLowerCase() === 'memory') return undefined;
  return /^(?:main|temp|system)$/i.test(name) ? `${name}_db` : name;
}

/** The lake folder of a `lake.duckdb`; undefined for any other file. */
export function lakeOf(file: string): string | undefined {
  const folder = dirname(resolve(file));
  return basename(file) === LAKE_CATALOG && existsSync(join(folder, LAKE_MANIFEST)) ? folder : undefined;
}

/** Opens the published file like any reader: it blocks nobody and sees a consistent state. */
export async function openPublished(path: string, alias?: string): Promise<Database> {
  if (!existsSync(path)) {
    throw new ConfigError(`there is no published file at ${path}`, {
      code: 'query_failed',
      hint: 'Run `sluice sync` first: it publishes one; fresh streams cost no request.',
      context: { path },
    });
  }
  try {
    const database = await openForReading(path, [], alias);
    await assertManifest(database, path);
    return database;
  } catch (error) {
    if (error instanceof DamagedLakeError) throw error;
    if (error instanceof StorageError && error.code === 'state_damaged')
      throw describeUnreadable(path, error);
    if (!(error instanceof LockedError)) throw error;
    throw new LockedError(error.message, {
      code: 'state_locked',
      hint: 'That program has it open for writing; open it read-only there (in Python: duckdb.connect(path, read_only=True)).',
      context: { path },
      cause: error,
    });
  }
}

/** Rejects the catalog of a lake without its manifest: the views in it read files that are not those of a lake then. */
async function assertManifest(database: Database, path: string): Promise<void> {
  if (basename(path) !== LAKE_CATALOG || lakeOf(path) !== undefined) return;
  const isOfLake = `SELECT count(*) FROM _sluice.meta WHERE key = $1`;
  if ((await database.count(isOfLake, [LAKE_ENTRY]).catch(() => 0)) === 0) return;
  await database.release();
  throw new DamagedLakeError(
    `the lake ${dirname(path)} has no ${LAKE_MANIFEST}: the rows of its tables cannot be read`,
    {
      code: 'state_damaged',
      hint: '`sluice verify` shows how to repair it. Nothing was changed.',
      context: { path },
    },
  );
}

/** The same for commands that read Sluice's tables; rejects files of other programs. */
export async function openOwnPublished(path: string): Promise<Database> {
  const database = await openPublished(path);
  if (await holdsState(database)) return database;
  await database.release();
  throw new ConfigError(`${path} was not written by Sluice`, {
    code: 'publish_refused',
    hint: 'Set destination.duckdb to another file, or move this one away.',
    context: { path },
  });
}

/** Whether a file has Sluice's tables: all are created together. With several accounts they have one more column. */
export async function holdsState(database: Database): Promise<boolean> {
  const columns = await readColumnsOf(database, '_sluice.checkpoints');
  return columns.size > 0 && !columns.has('account');
}

/** Reads from the published file, which is available even during a run. */
export async function withPublished<T>(
  { readersFile }: Pick<OfflineSettings, 'readersFile'>,
  read: (database: Database) => Promise<T>,
): Promise<T> {
  const database = await openOwnPublished(readersFile);
  try {
    return await read(database);
  } finally {
    await database.release();
  }
}

class DamagedLakeError extends StorageError {}

function describeMoved(lake: string): DamagedLakeError {
  return new DamagedLakeError(`cannot read the lake ${lake}: ${MOVED}`, {
    code: 'state_damaged',
    hint: `${MOVED_FIX} Nothing was changed.`,
    context: { path: lake },
  });
}

function describeUnreadable(path: string, error: StorageError): StorageError {
  return new StorageError(`${path} is not a DuckDB file that this version can read`, {
    code: 'state_damaged',
    hint: 'If Sluice wrote it, run `sluice sync`: it publishes the file again from the state folder, or says what to do first. If not, set destination.duckdb to another file.',
    context: { path },
    cause: error,
  });
}
