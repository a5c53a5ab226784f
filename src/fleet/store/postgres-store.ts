import { stat } from 'node:fs/promises';
import { StorageError, SyncError } from '../../model/errors.ts';
import { formatBytes } from '../../text/format-bytes.ts';
import { onDisk, openLocal, readFully, writeChunks } from './local-file.ts';
import { assertObjectName, isObjectName } from './object-name.ts';
import type { StateStore, StoredObject } from './state-store.ts';

const PART_BYTES = 4 * 2 ** 20;
const MOST_BYTES = 256 * 2 ** 20;

/** Runs statements; values are bound, in the order of `$1`, `$2`, … */
export interface ObjectQueries {
  query(text: string, values?: readonly unknown[]): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** The part of a database that a store needs; its errors say where they happened, without secrets. */
export interface ObjectDatabase extends ObjectQueries {
  /** As people see it, without a login. */
  readonly place: string;
  /** All of it is there afterwards, or nothing. */
  transaction<T>(work: (queries: ObjectQueries) => Promise<T>): Promise<T>;
}

/**
 * Keeps objects in a table of Postgres: `(name text, part int, bytes bytea, stored_at timestamptz default
 * clock_timestamp(), primary key (name, part))`. For fleets with small states: an object has at most 256 MB.
 */
export class PostgresStore implements StateStore {
  readonly place: string;
  readonly #database: ObjectDatabase;
  readonly #table: string;

  /** @param table quoted as SQL wants it, e.g. `sluice_fleet.objects` */
  constructor(database: ObjectDatabase, table: string) {
    this.place = `${database.place} (${table})`;
    this.#database = database;
    this.#table = table;
  }

  async put(name: string, file: string): Promise<void> {
    assertObjectName(name);
    const { size } = await onDisk(file, () => stat(file));
    if (size > MOST_BYTES) throw this.#tooLarge(name, size);
    const handle = await openLocal(file);
    try {
      await this.#guard(() =>
        this.#database.transaction(async (queries) => {
          let part = 0;
          // An empty object has one empty part.
          do {
            const start = part * PART_BYTES;
            const bytes = Buffer.allocUnsafe(Math.min(PART_BYTES, size - start));
            await readFully({ handle, file }, bytes, start);
            await queries.query(
              `INSERT INTO ${this.#table} AS x (name, part, bytes) VALUES ($1, $2, $3)
               ON CONFLICT (name, part) DO UPDATE SET bytes = excluded.bytes, stored_at = clock_timestamp()`,
              [name, part, bytes],
            );
            part += 1;
          } while (part * PART_BYTES < size);
          await queries.query(`DELETE FROM ${this.#table} WHERE name = $1 AND part >= $2`, [name, part]);
        }),
      );
    } finally {
      await handle.close();
    }
  }

  async get(name: string, file: string): Promise<boolean> {
    assertObjectName(name);
    return this.#guard(() =>
      this.#database.transaction(async (queries) => {
        // One state of the table for all parts, whatever others write or remove.
        await queries.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
        const [found] = await queries.query(
          `SELECT count(*)::int AS parts FROM ${this.#table} WHERE name = $1`,
          [name],
        );
        const parts = Number(found?.['parts']);
        if (parts === 0) return false;
        await writeChunks({ file, isScratch: true }, this.#readParts(queries, name, parts));
        return true;
      }),
    );
  }

  async list(prefix: string): Promise<readonly StoredObject[]> {
    return this.#guard(async () => {
      const rows = await this.#database.query(
        `SELECT name, sum(octet_length(bytes))::float8 AS bytes, (extract(epoch FROM max(stored_at)) * 1000)::float8 AS at
         FROM ${this.#table} WHERE starts_with(name, $1) GROUP BY name`,
        [prefix],
      );
      return rows
        .map(({ name, bytes, at }) => ({
          name: String(name),
          bytes: Number(bytes),
          storedAtMs: Math.floor(Number(at)),
        }))
        .filter(({ name }) => isObjectName(name));
    });
  }

  async remove(names: readonly string[]): Promise<void> {
    for (const name of names) assertObjectName(name);
    await this.#guard(() =>
      this.#database.query(`DELETE FROM ${this.#table} WHERE name = ANY($1::text[])`, [names]),
    );
  }

  /** Leaves the database open: others use it, too. */
  async close(): Promise<void> {}

  async *#readParts(queries: ObjectQueries, name: string, parts: number): AsyncGenerator<Uint8Array> {
    for (let part = 0; part < parts; part += 1) {
      const [row] = await queries.query(`SELECT bytes FROM ${this.#table} WHERE name = $1 AND part = $2`, [
        name,
        part,
      ]);
      if (!(row?.['bytes'] instanceof Uint8Array)) throw new Error(`part ${part} of ${name} is missing`);
      yield row['bytes'];
    }
  }

  #tooLarge(name: string, size: number): StorageError {
    return new StorageError(
      `${this.place}: ${name} has ${formatBytes(size)}, and Postgres keeps at most ${formatBytes(MOST_BYTES)} of an account`,
      {
        code: 'storage_failed',
        hint: 'Write fleet.store: s3://bucket/prefix, or a folder that all machines see. What was stored before is unchanged.',
        context: { path: this.place },
      },
    );
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      if (thrown instanceof SyncError) throw thrown;
      const said = thrown instanceof Error ? thrown.message : String(thrown);
      throw new StorageError(`${this.place}: the database refuses: ${said}`, {
        code: 'storage_failed',
        hint: 'Start it, free some space or fix its permissions, and run again. What was stored before is unchanged.',
        context: { path: this.place },
        cause: thrown,
      });
    }
  }
}
