import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { assertNotAborted } from '../model/abort.ts';
import { AbortedError, type SyncError } from '../model/errors.ts';
import type { QueryResult } from '../model/reports.ts';
import type { SqlRow, SqlSession, SqlValue } from '../model/sql.ts';
import { createCounted } from './create-instance.ts';
import { attachFile } from './attach-file.ts';
import { ATTACHED, type DatabaseOptions } from './database-options.ts';
import { isFatal, isOutOfMemory, wrapDatabaseError } from './database-errors.ts';
import { EngineMemory, type EngineShare } from './engine-memory.ts';
import { FileShape } from './file-shape.ts';
import { quoteIdentifier } from './identifiers.ts';
import { readFirstRows, streamColumns, streamRows } from './stream-result.ts';

// `StatementType.SELECT`: importing it would load the engine with this module.
const SELECT_STATEMENT = 1;
const INTERRUPT_AGAIN_MS = 20;
/** A statement that takes this long has used enough memory to release it afterwards, ms. */
const LARGE_STATEMENT_MS = 50;

/**
 * One DuckDB file, attached to an in-memory instance: a file opened that way also survives a crash after any ALTER
 * (measured: opened directly, some leave a log that cannot be replayed). The process must never open the file by other
 * means while this is open: closing any descriptor of it drops the engine's lock.
 */
export class Database implements SqlSession {
  readonly #options: DatabaseOptions;
  readonly #memory: EngineMemory;
  #instance: DuckDBInstance;
  #connection: DuckDBConnection;
  #isInTransaction = false;
  #running: Promise<unknown> = Promise.resolve();
  /** The fatal error of the engine; no statement runs after it. */
  #failure: SyncError | undefined;
  #isStopped = false;
  /** What is known about the file's tables. */
  readonly shape = new FileShape();

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
    const instance = await createCounted(options, memory);
    const database = new Database(options, memory, instance, await instance.connect());
    await database.#prepare();
    return database;
  }

  /** Reopens the file after `release`, e.g. when it was replaced. */
  async reopen(): Promise<void> {
    this.#instance = await createCounted(this.#options, this.#memory);
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
      this.shape.opening(this.file);
      this.shape.opened(await attachFile(this, this.#alias, this.#options));
    } catch (error) {
      this.close();
      throw error;
    }
  }

  async run(sql: string, values?: readonly SqlValue[]): Promise<void> {
    this.shape.follow(sql);
    this.shape.widen(sql);
    const share = this.#memory.fit(this.shape.width);
    if (share !== undefined) await this.#give(share);
    try {
      await this.#guard(() => this.#connection.run(sql, values === undefined ? undefined : [...values]));
    } finally {
      this.shape.follow(sql);
    }
  }

  async all(sql: string, values?: readonly SqlValue[]): Promise<readonly SqlRow[]> {
    const reader = await this.#guard(() =>
      this.#connection.runAndReadAll(sql, values === undefined ? undefined : [...values]),
    );
    return reader.getRowObjectsJS();
  }

  /** Number of statements in a text, and whether the first one is read-only. */
  async inspect(sql: string): Promise<{ readonly count: number; readonly onlyReads: boolean }> {
    const found = await this.#guard(() => this.#connection.extractStatements(sql));
    const { count } = found;
    if (count !== 1) return { count, onlyReads: false };
    const { statementType } = await this.#guard(() => found.prepare(0));
    return { count, onlyReads: Number(statementType) === SELECT_STATEMENT };
  }

  /** A result as columns and at most `maxRows` rows of JSON-safe scalars. */
  query(sql: string, maxRows: number): Promise<QueryResult> {
    return this.#guard(() => readFirstRows(this.#connection, sql, maxRows));
  }

  /** Columns of a result in chunks, as it is computed; until the last one, no other statement may run. */
  stream(sql: string): AsyncGenerator<readonly (readonly unknown[])[]> {
    return streamColumns({ connection: this.#connection, sql, runStep: (step) => this.#step(step) });
  }

  /** Rows of a result in portions, as it is computed, and at least one portion; the same goes for other statements. */
  streamRows(sql: string): AsyncGenerator<QueryResult> {
    return streamRows({ connection: this.#connection, sql, runStep: (step) => this.#step(step) });
  }

  /** The first column of the first row as a number, for counts. */
  async count(sql: string, values?: readonly SqlValue[]): Promise<number> {
    const [row] = await this.all(sql, values);
    return Number(Object.values(row ?? {})[0] ?? 0);
  }

  /**
   * Runs `work` in a transaction. If it runs out of memory, it is rolled back and repeated with more, so it must only
   * run statements and return its results.
   *
   * @param isKept whether a result is committed; otherwise it is rolled back
   */
  async transaction<T>(work: () => Promise<T>, isKept: (result: T) => boolean = () => true): Promise<T> {
    for (;;) {
      try {
        return await this.#transact(work, isKept);
      } catch (error) {
        if (!(await this.#growFor(error))) throw error;
      }
    }
  }

  async #transact<T>(work: () => Promise<T>, isKept: (result: T) => boolean): Promise<T> {
    await this.run('BEGIN TRANSACTION');
    this.#isInTransaction = true;
    try {
      const result = await work();
      if (isKept(result)) await this.run('COMMIT');
      else await this.#rollBack();
      return result;
    } catch (error) {
      await this.#rollBack();
      throw error;
    } finally {
      this.#isInTransaction = false;
    }
  }

  /** Interrupts the running statement; later ones fail until `proceed`, except a rollback. */
  interrupt(): void {
    this.#isStopped = true;
    this.#connection.interrupt();
    // An interrupt is lost if the engine is just about to start a statement.
    const again = setInterval(() => this.#connection.interrupt(), INTERRUPT_AGAIN_MS);
    void this.#running.catch(() => undefined).finally(() => clearInterval(again));
  }

  /** Allows statements again. */
  proceed(): void {
    this.#isStopped = false;
  }

  /** Writes the log into the file: it is complete without it. */
  async checkpoint(): Promise<void> {
    await this.run(`CHECKPOINT ${this.#alias}`);
    this.shape.settled();
  }

  /** Makes the space of dropped tables free for what is written next; within a transaction that has to wait. */
  async freeBlocks(): Promise<void> {
    if (!this.#isInTransaction) await this.checkpoint();
  }

  /** Does so if the log may have a statement that the engine cannot replay after a kill. */
  async settleLog(): Promise<void> {
    if (this.shape.isLogRisky) await this.checkpoint();
  }

  /** Waits for a running statement (closing during one would hang), then releases the file. */
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
    this.#memory.closed();
    this.#options.onClosed?.();
  }

  // Report the first error; a failed rollback is a consequence of it.
  async #rollBack(): Promise<void> {
    this.shape.forget();
    if (this.#failure !== undefined) return;
    this.#running = this.#connection.run('ROLLBACK');
    await this.#running.catch(() => undefined);
  }

  async #guard<T>(statement: () => Promise<T>): Promise<T> {
    for (;;) {
      const startedMs = performance.now();
      try {
        const result = await this.#step(statement);
        if (performance.now() - startedMs >= LARGE_STATEMENT_MS) await this.#give(this.#memory.current);
        return result;
      } catch (error) {
        // A failed transaction accepts no more statements: all of it is repeated.
        if (this.#isInTransaction || !(await this.#growFor(error))) throw error;
      }
    }
  }

  /** Prepares the engine to load lines of this total size in bytes, with as much memory as that needs. */
  async beginLoad(bytes: number): Promise<void> {
    await this.#give(this.#memory.begin(bytes));
  }

  /** Prepares the engine to read lines in the background: one thread and little memory. */
  async beginReading(): Promise<void> {
    await this.#give(this.#memory.beginReading());
  }

  /**
   * Returns unused memory to the system. The engine does that when its limit is set, even to the same value;
   * otherwise the allocator keeps up to 100 MB.
   */
  async trim(): Promise<void> {
    if (this.#memory.hasLittleToReturn) return;
    await this.#give(this.#memory.current);
  }

  /** Gives the engine more memory if a statement ran out of it; false if there is no more. */
  async #growFor(error: unknown): Promise<boolean> {
    // A reader already has all memory, and its settings are locked.
    if (this.#options.readOnly === true) return false;
    const share = isOutOfMemory(error) && this.#failure === undefined ? this.#memory.grow() : undefined;
    if (share === undefined) return false;
    await this.#give(share);
    return true;
  }

  // A limit below what the engine uses is rejected without harm.
  async #give(share: EngineShare): Promise<void> {
    if (this.#options.readOnly === true || this.#failure !== undefined) return;
    for (const setting of this.#memory.toSettings(share)) {
      this.#running = this.#connection.run(`SET ${setting}`);
      await this.#running.catch(() => undefined);
    }
  }

  async #step<T>(step: () => Promise<T>): Promise<T> {
    if (this.#failure !== undefined) throw this.#failure;
    assertNotAborted(this.#options.endedBy);
    if (this.#isStopped) throw wrapDatabaseError('INTERRUPT Error: Interrupted!', this.file);
    const running = step();
    this.#running = running;
    try {
      return await running;
    } catch (thrown) {
      const error = wrapDatabaseError(thrown, this.file, this.#options.isPublished);
      if (isFatal(error)) this.#failure = error;
      // The interrupt shows how the statement ended, not why.
      if (error instanceof AbortedError) assertNotAborted(this.#options.endedBy);
      throw error;
    }
  }
}
