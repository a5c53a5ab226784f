import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import type { DuckDBConnection, DuckDBInstance, DuckDBValueConverter, Json } from '@duckdb/node-api';
import { AbortedError, BugError, LockedError, StorageError, SyncError } from '../model/errors.ts';
import type { QueryCell, QueryResult } from '../model/reports.ts';
import type { SqlRow, SqlSession, SqlValue } from '../model/sql.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';

/** Alias of the attached file in every statement. */
export const ATTACHED = 'work';

export interface DatabaseOptions {
  readonly file: string;
  readonly readOnly?: boolean;
  /** The only folders the engine may touch besides the file; the first (else one in /tmp) takes its spill files. */
  readonly folders: readonly string[];
}

/**
 * One DuckDB file, attached to an in-memory instance: a file opened that way also survives a crash
 * after any ALTER (measured: opened directly, some leave a log that cannot be replayed).
 *
 * The process must never open the file by other means while this is open: closing any descriptor of it
 * drops the engine's lock.
 */
export class Database implements SqlSession {
  readonly file: string;
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;
  #running: Promise<unknown> = Promise.resolve();

  private constructor(file: string, instance: DuckDBInstance, connection: DuckDBConnection) {
    this.file = file;
    this.#instance = instance;
    this.#connection = connection;
  }

  /** Opens the file, creating it unless `readOnly`; throws LockedError or StorageError. */
  static async open(options: DatabaseOptions): Promise<Database> {
    const { DuckDBInstance } = await import('@duckdb/node-api');
    // Left to itself the engine spills into the folder the user happens to be in.
    const [spillFolder = join(tmpdir(), `sluice-${randomUUID()}`)] = options.folders;
    const instance = await DuckDBInstance.create(':memory:', {
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
      memory_limit: `${memoryLimitMb()}MB`,
      threads: '2',
      preserve_insertion_order: 'false',
      temp_directory: spillFolder,
    });
    const connection = await instance.connect();
    const database = new Database(options.file, instance, connection);
    try {
      await database.#prepare(options);
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  }

  async #prepare({ file, readOnly = false, folders }: DatabaseOptions): Promise<void> {
    // An explicit storage version keeps an engine upgrade from changing who can read the file.
    const how = readOnly ? 'READ_ONLY' : "STORAGE_VERSION 'v1.4.0'";
    await this.run(`ATTACH ${quoteLiteral(file)} AS ${ATTACHED} (${how})`);
    await this.run(`USE ${ATTACHED}`);
    await this.run(`SET TimeZone = 'UTC'`);
    if (folders.length > 0)
      await this.run(`SET allowed_directories = [${folders.map(quoteLiteral).join(', ')}]`);
    await this.run('SET enable_external_access = false');
    await this.run('SET lock_configuration = true');
  }

  async run(sql: string, values?: readonly SqlValue[]): Promise<void> {
    await this.#guard(() => this.#connection.run(sql, values === undefined ? undefined : [...values]));
  }

  async all(sql: string, values?: readonly SqlValue[]): Promise<readonly SqlRow[]> {
    const reader = await this.#guard(() =>
      this.#connection.runAndReadAll(sql, values === undefined ? undefined : [...values]),
    );
    return reader.getRowObjectsJS();
  }

  /** How many statements a text holds. */
  async countStatements(sql: string): Promise<number> {
    return (await this.#guard(() => this.#connection.extractStatements(sql))).count;
  }

  /** A result as columns and rows of JSON-safe scalars, at most `maxRows` of them. */
  async query(sql: string, maxRows: number): Promise<QueryResult> {
    const limit = Math.min(maxRows, Number.MAX_SAFE_INTEGER);
    const reader = await this.#guard(() => this.#connection.streamAndReadUntil(sql, limit));
    const columns = reader.columnNames().map((name, at) => ({ name, type: String(reader.columnType(at)) }));
    const rows = reader.convertRows(await createUtcConverter()).slice(0, limit);
    return { columns, rows: rows.map((row) => row.map(toQueryCell)) };
  }

  /** First column of the first row as a number, for counts. */
  async count(sql: string, values?: readonly SqlValue[]): Promise<number> {
    const [row] = await this.all(sql, values);
    return Number(Object.values(row ?? {})[0] ?? 0);
  }

  /** Commits what `work` did, or nothing of it. */
  async transaction<T>(work: () => Promise<T>): Promise<T> {
    await this.run('BEGIN TRANSACTION');
    try {
      const result = await work();
      await this.run('COMMIT');
      return result;
    } catch (error) {
      // The first error is the one to tell; a failed rollback follows from it.
      await this.run('ROLLBACK').catch(() => undefined);
      throw error;
    }
  }

  /** Makes a running statement reject; harmless when none runs. */
  interrupt(): void {
    this.#connection.interrupt();
  }

  /** Writes the log into the file, so that the file alone is whole. */
  async checkpoint(): Promise<void> {
    await this.run(`CHECKPOINT ${quoteIdentifier(ATTACHED)}`);
  }

  /** Waits for a running statement (closing under one would hang), then releases the file. */
  async release(): Promise<void> {
    await this.#running.catch(() => undefined);
    await this.#connection.run('USE memory').catch(() => undefined);
    await this.#connection.run(`DETACH ${ATTACHED}`).catch(() => undefined);
    this.close();
  }

  private close(): void {
    this.#connection.closeSync();
    this.#instance.closeSync();
  }

  async #guard<T>(statement: () => Promise<T>): Promise<T> {
    const running = statement();
    this.#running = running;
    try {
      return await running;
    } catch (error) {
      throw wrapDatabaseError(error, this.file);
    }
  }
}

// The library writes times with a zone in the machine's own; a result must not depend on the machine.
async function createUtcConverter(): Promise<DuckDBValueConverter<Json>> {
  const { DuckDBTimestampTZValue, DuckDBTimestampValue, JsonDuckDBValueConverter } =
    await import('@duckdb/node-api');
  const convert: DuckDBValueConverter<Json> = (value, type) =>
    value instanceof DuckDBTimestampTZValue
      ? `${new DuckDBTimestampValue(value.micros).toString()}+00`
      : JsonDuckDBValueConverter(value, type, convert);
  return convert;
}

// The engine's JSON form has text for what a double cannot hold; lists and structs become JSON text.
function toQueryCell(value: Json): QueryCell {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}

// These quote the statement, in which a user may have written anything.
const STATEMENT_ERROR =
  /^(?:Parser|Binder|Catalog|Conversion|Constraint|Invalid Input|Out of Range|Permission|Not implemented) Error/;

/** Gives an engine's error its place in our taxonomy; the engine has no codes, only texts. */
export function wrapDatabaseError(thrown: unknown, file: string): SyncError {
  if (thrown instanceof SyncError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  if (STATEMENT_ERROR.test(message)) return refusedStatement(message, file, thrown);
  const context = { path: file };
  if (message.includes('Could not set lock on file')) {
    return new LockedError(`${file} is open in another process: ${holderOf(message)}`, {
      code: 'state_locked',
      hint: 'Close that process, or let it finish, and run again. Nothing was changed.',
      context,
      cause: thrown,
    });
  }
  if (message.startsWith('INTERRUPT')) {
    return new AbortedError('the running statement was interrupted', {
      code: 'aborted',
      hint: 'Run again to go on from the last commit.',
      cause: thrown,
    });
  }
  if (/No space left|File too large|Disk quota|Could not write|Input\/output error/.test(message)) {
    return new StorageError(`the disk refused to take more: ${message}`, {
      code: 'storage_failed',
      hint: 'Free some space and run again; everything committed before is intact.',
      context,
      cause: thrown,
    });
  }
  if (/not a valid DuckDB database|Corrupt|checksum|replaying WAL|invalidated|version number/.test(message)) {
    return new StorageError(`${file} cannot be read: ${message}`, {
      code: 'state_damaged',
      hint: 'Move the file and its .wal aside (do not delete them) and run again: Sluice restores its state from the published file.',
      context,
      cause: thrown,
    });
  }
  if (/^Out of Memory|(?:could not|failed to) allocate/.test(message)) {
    return new StorageError(`the warehouse ran out of memory: ${message.split('\n', 1)[0] ?? ''}`, {
      code: 'storage_failed',
      hint: 'Give the process more memory (or disk, for what it moves there) and run again; everything committed before is intact.',
      context,
      cause: thrown,
    });
  }
  return refusedStatement(message, file, thrown);
}

// Whatever else the engine refuses is a statement of ours that it should not have been given.
function refusedStatement(message: string, file: string, thrown: unknown): BugError {
  return new BugError(`the warehouse refused a statement: ${message}`, {
    code: 'bug',
    hint: 'Everything committed before is intact. This is a defect of Sluice; please report it with the text above.',
    context: { path: file },
    cause: thrown,
  });
}

function holderOf(message: string): string {
  return /held in (.+? \(PID \d+\))/.exec(message)?.[1] ?? 'its holder is unknown';
}

// The engine exceeds its limit by up to 200 MB, so a small container gets far less than its size; a table of
// 5,000 columns needs about 600 MB.
function memoryLimitMb(): number {
  const totalMb = Math.min(totalmem(), cgroupLimit() ?? Infinity) / 2 ** 20;
  return Math.round(Math.max(128, Math.min(totalMb * 0.5 - 100, 2_048)));
}

function cgroupLimit(): number | undefined {
  for (const file of ['/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/memory/memory.limit_in_bytes']) {
    try {
      const bytes = Number(readFileSync(file, 'utf8').trim());
      if (Number.isFinite(bytes) && bytes > 0) return bytes;
    } catch {
      // No such control group: the machine's memory is the limit.
    }
  }
  return undefined;
}
