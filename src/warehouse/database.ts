import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import type { SyncError } from '../model/errors.ts';
import type { QueryResult } from '../model/reports.ts';
import type { SqlRow, SqlSession, SqlValue } from '../model/sql.ts';
import { createInstance } from './create-instance.ts';
import { isFatal, isOutOfMemory, wrapDatabaseError } from './database-errors.ts';
import { EngineMemory, type EngineShare } from './engine-memory.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';
import { createUtcConverter, nameType, toQueryCell } from './query-cells.ts';

/** Alias of the attached file in every statement of ours. */
export const ATTACHED = 'work';

// `StatementType.SELECT`: its name would load the engine wherever this file is.
const SELECT_STATEMENT = 1;
const INTERRUPT_AGAIN_MS = 20;
/** A statement that takes this long has used memory worth giving back, ms. */
const LARGE_STATEMENT_MS = 50;

export interface DatabaseOptions {
  readonly file: string;
  readonly readOnly?: boolean;
  /**
   * The only folders the engine may touch besides the file; the first (else one in /tmp) takes its spill files.
   * A file that is only read, without a folder, is all the engine can reach, and nothing can be spilt.
   */
  readonly folders: readonly string[];
  /** A folder whose files a reader's views are made of. */
  readonly views?: string | undefined;
  /** Whether it is what readers open: that one is published again, and no state is restored in its place. */
  readonly isPublished?: boolean;
  /** What statements call the file, for texts of people; ours say `work`. */
  readonly alias?: string | undefined;
}

/**
 * One DuckDB file, attached to an in-memory instance: a file opened that way also survives a crash
 * after any ALTER (measured: opened directly, some leave a log that cannot be replayed).
 *
 * The process must never open the file by other means while this is open: closing any descriptor of it
 * drops the engine's lock.
 */
export class Database implements SqlSession {
  readonly #options: DatabaseOptions;
  readonly #memory: EngineMemory;
  #instance: DuckDBInstance;
  #connection: DuckDBConnection;
  #isInTransaction = false;
  #running: Promise<unknown> = Promise.resolve();
  /** What made the engine give up on its file; it is asked nothing after that. */
  #failure: SyncError | undefined;
  #isStopped = false;

  private constructor(
    options: DatabaseOptions,
    memory: EngineMemory,
    instance: DuckDBInstance,
    connection: DuckDBConnection,
  ) {
    this.#options = options;
    this.#memory = memory;
    this.#instance = instance;
    this.#connection = connection;
  }

  /** Opens the file, creating it unless `readOnly`; throws LockedError or StorageError. */
  static async open(options: DatabaseOptions): Promise<Database> {
    const memory = new EngineMemory(options.readOnly === true);
    const instance = await createInstance(options, memory.current);
    const database = new Database(options, memory, instance, await instance.connect());
    await database.#prepare();
    return database;
  }

  /** Opens the file again after `release`, e.g. another one that was put in its place. */
  async reopen(): Promise<void> {
    this.#instance = await createInstance(this.#options, this.#memory.current);
    this.#connection = await this.#instance.connect();
    this.#failure = undefined;
    this.#isStopped = false;
    await this.#prepare();
  }

  get file(): string {
    return this.#options.file;
  }

  get #alias(): string {
    return quoteIdentifier(this.#options.alias ?? ATTACHED);
  }

  async #prepare(): Promise<void> {
    try {
      await this.#attach(this.#options);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  async #attach({ file, readOnly = false, folders, views }: DatabaseOptions): Promise<void> {
    // An explicit storage version keeps an engine upgrade from changing who can read the file.
    const how = readOnly ? 'READ_ONLY' : "STORAGE_VERSION 'v1.4.0'";
    await this.run(`ATTACH ${quoteLiteral(file)} AS ${this.#alias} (${how})`);
    await this.run(`USE ${this.#alias}`);
    await this.run(`SET TimeZone = 'UTC'`);
    const reach = views === undefined ? folders : [...folders, views];
    if (reach.length > 0) await this.run(`SET allowed_directories = [${reach.map(quoteLiteral).join(', ')}]`);
    await this.run('SET enable_external_access = false');
    // Otherwise the file itself stays within reach: COPY could write over it, or a log of the engine's.
    if (readOnly && reach.length === 0) await this.run(`SET disabled_filesystems = 'LocalFileSystem'`);
    // Ours to grow; nothing else may change, whatever a statement says.
    if (!readOnly) await this.run(`SET allowed_configs = ['memory_limit', 'threads']`);
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

  /** How many statements a text holds, and whether the first one can do nothing but read. */
  async inspect(sql: string): Promise<{ readonly count: number; readonly onlyReads: boolean }> {
    const found = await this.#guard(() => this.#connection.extractStatements(sql));
    const { count } = found;
    if (count !== 1) return { count, onlyReads: false };
    const { statementType } = await this.#guard(() => found.prepare(0));
    return { count, onlyReads: Number(statementType) === SELECT_STATEMENT };
  }

  /** A result as columns and rows of JSON-safe scalars, at most `maxRows` of them. */
  async query(sql: string, maxRows: number): Promise<QueryResult> {
    const limit = Math.min(maxRows, Number.MAX_SAFE_INTEGER);
    const reader = await this.#guard(() => this.#connection.streamAndReadUntil(sql, limit));
    const columns = reader.columnNames().map((name, at) => ({ name, type: nameType(reader.columnType(at)) }));
    const rows = reader.convertRows(await createUtcConverter()).slice(0, limit);
    return { columns, rows: rows.map((row) => row.map(toQueryCell)) };
  }

  /** First column of the first row as a number, for counts. */
  async count(sql: string, values?: readonly SqlValue[]): Promise<number> {
    const [row] = await this.all(sql, values);
    return Number(Object.values(row ?? {})[0] ?? 0);
  }

  /**
   * Commits what `work` did, or nothing of it. Where it needs more memory than the engine has, it is rolled
   * back and done again with more: it must do nothing but statements, and return the rest.
   */
  async transaction<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await this.#transact(work);
      } catch (error) {
        if (!(await this.#growFor(error))) throw error;
      }
    }
  }

  async #transact<T>(work: () => Promise<T>): Promise<T> {
    await this.run('BEGIN TRANSACTION');
    this.#isInTransaction = true;
    try {
      const result = await work();
      await this.run('COMMIT');
      return result;
    } catch (error) {
      await this.#rollBack();
      throw error;
    } finally {
      this.#isInTransaction = false;
    }
  }

  /** Makes the statement that runs reject, and those that follow until `proceed`, but for a rollback. */
  interrupt(): void {
    this.#isStopped = true;
    this.#connection.interrupt();
    // A statement that the engine is about to begin forgets that it was interrupted.
    const again = setInterval(() => this.#connection.interrupt(), INTERRUPT_AGAIN_MS);
    const stop = () => clearInterval(again);
    this.#running.then(stop, stop);
  }

  /** Lets statements through again. */
  proceed(): void {
    this.#isStopped = false;
  }

  /** Writes the log into the file, so that the file alone is whole. */
  async checkpoint(): Promise<void> {
    await this.run(`CHECKPOINT ${this.#alias}`);
  }

  /** Waits for a running statement (closing under one would hang), then releases the file. */
  async release(): Promise<void> {
    await this.#settle();
    await this.#connection.run('USE memory').catch(() => undefined);
    await this.#connection.run(`DETACH ${this.#alias}`).catch(() => undefined);
    this.close();
  }

  async #settle(): Promise<void> {
    for (let last: unknown; last !== this.#running;) {
      last = this.#running;
      await this.#running.catch(() => undefined);
    }
  }

  private close(): void {
    this.#connection.closeSync();
    this.#instance.closeSync();
  }

  // The first error is the one to tell; a failed rollback follows from it.
  async #rollBack(): Promise<void> {
    if (this.#failure !== undefined) return;
    this.#running = this.#connection.run('ROLLBACK');
    await this.#running.catch(() => undefined);
  }

  async #guard<T>(statement: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await this.#attempt(statement);
      } catch (error) {
        // In a transaction the engine takes no more statements: all of it is done again.
        if (this.#isInTransaction || !(await this.#growFor(error))) throw error;
      }
    }
  }

  /** Sets the engine up to load lines of this size, bytes: with as much memory as that takes, and no more. */
  async beginLoad(bytes: number): Promise<void> {
    await this.#give(this.#memory.begin(bytes));
  }

  /** Sets the engine up to read lines while something else works: with one thread, and little memory. */
  async beginReading(): Promise<void> {
    await this.#give(this.#memory.beginReading());
  }

  /**
   * Gives memory that is no longer used back to the system. The engine does that when it is told its limit,
   * be it the same; left alone, the process's allocator keeps up to 100 MB for what may come.
   */
  async trim(): Promise<void> {
    await this.#give(this.#memory.current);
  }

  /** Gives the engine more memory, should that be what a statement lacked; false when there is no more. */
  async #growFor(error: unknown): Promise<boolean> {
    // A reader has it all, and its settings are locked.
    if (this.#options.readOnly === true) return false;
    const share = isOutOfMemory(error) && this.#failure === undefined ? this.#memory.grow() : undefined;
    if (share === undefined) return false;
    await this.#give(share);
    return true;
  }

  // Less than the engine holds on to is refused, and does no harm: the next statement grows or fits.
  async #give({ megabytes, threads }: EngineShare): Promise<void> {
    if (this.#options.readOnly === true || this.#failure !== undefined) return;
    for (const setting of [`memory_limit = '${megabytes}MB'`, `threads = ${threads}`]) {
      this.#running = this.#connection.run(`SET ${setting}`);
      await this.#running.catch(() => undefined);
    }
  }

  async #attempt<T>(statement: () => Promise<T>): Promise<T> {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#isStopped) throw wrapDatabaseError('INTERRUPT Error: Interrupted!', this.file);
    const running = statement();
    this.#running = running;
    const startedMs = performance.now();
    try {
      const result = await running;
      if (performance.now() - startedMs >= LARGE_STATEMENT_MS) await this.trim();
      return result;
    } catch (thrown) {
      const error = wrapDatabaseError(thrown, this.file, this.#options.isPublished);
      if (isFatal(error)) this.#failure = error;
      throw error;
    }
  }
}
