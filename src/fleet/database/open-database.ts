import type { Pool, PoolClient, QueryResult } from 'pg';
import { ConfigError, StorageError, type SyncError } from '../../model/errors.ts';
import type { FleetSettings } from '../../model/fleet.ts';
import { redact } from '../../text/redact.ts';
import { loadPg } from './packages.ts';
import type { FleetDatabase, Row, Sql } from './sql.ts';

/** A server that does not answer must not keep a worker: its leases go on. */
const CONNECT_MS = 10_000;
const QUERY_MS = 30_000;

/** How a process uses the database. */
export interface DatabaseUse {
  /** Shown in `pg_stat_activity`. */
  readonly name: string;
  readonly connections: number;
}

/**
 * Opens the database of a fleet; the first statement connects.
 *
 * @throws ConfigError (2) if the driver is not installed
 */
export async function openFleetDatabase(
  settings: Pick<FleetSettings, 'database' | 'place' | 'secrets' | 'leaseMs'>,
  { name, connections }: DatabaseUse,
): Promise<FleetDatabase> {
  const { Pool } = await loadPg();
  const pool = new Pool({
    connectionString: settings.database.href,
    application_name: name.slice(0, 63),
    max: connections,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: QUERY_MS,
    statement_timeout: QUERY_MS,
    // A paused process must not keep a row that another machine waits for.
    idle_in_transaction_session_timeout: Math.min(QUERY_MS, settings.leaseMs),
    keepAlive: true,
  });
  // A connection that is lost while nobody uses it is replaced with the next statement.
  pool.on('error', () => undefined);
  return new PooledDatabase(pool, settings);
}

class PooledDatabase implements FleetDatabase {
  readonly place: string;
  readonly #pool: Pool;
  readonly #secrets: readonly string[];

  constructor(pool: Pool, { place, secrets }: Pick<FleetSettings, 'place' | 'secrets'>) {
    this.#pool = pool;
    this.place = place;
    this.#secrets = secrets;
  }

  async query(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    return this.#run(this.#pool, text, values);
  }

  async transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect().catch((thrown: unknown) => {
      throw this.#explain(thrown);
    });
    let broken: Error | undefined;
    const note = (error: Error) => (broken = error);
    client.on('error', note);
    const run = async (text: string, values: readonly unknown[] = []) => {
      try {
        return await this.#run(client, text, values);
      } catch (thrown) {
        if (isConnectionLost(thrown)) broken ??= thrown as Error;
        throw thrown;
      }
    };
    try {
      await run('BEGIN');
      const result = await work({ query: run });
      await run('COMMIT');
      return result;
    } catch (thrown) {
      // A connection that is lost took its transaction with it.
      await client.query('ROLLBACK').catch(note);
      throw thrown;
    } finally {
      client.off('error', note);
      client.release(broken);
    }
  }

  async #run(on: Pool | PoolClient, text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    try {
      return readRows(await on.query<Row>(text, [...values]));
    } catch (thrown) {
      throw this.#explain(thrown);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  #explain(thrown: unknown): SyncError {
    return explainDatabaseError(thrown, { place: this.place, secrets: this.#secrets });
  }
}

/** Several statements in one text have a result each; the last one counts. */
function readRows(result: QueryResult<Row> | readonly QueryResult<Row>[]): readonly Row[] {
  const last = Array.isArray(result) ? (result as readonly QueryResult<Row>[]).at(-1) : result;
  return (last as QueryResult<Row> | undefined)?.rows ?? [];
}

/** What people may see of a database. */
interface ShownPlace {
  readonly place: string;
  readonly secrets: readonly string[];
}

/** What an error of the database means, without secrets. */
export function explainDatabaseError(thrown: unknown, { place, secrets }: ShownPlace): SyncError {
  const code = (thrown as { readonly code?: unknown }).code;
  const said = redact(readMessage(thrown), secrets).slice(0, 500);
  const cause = new Error(said);
  const context = { path: place };
  const config = findConfigMistake(code, said);
  if (config !== undefined)
    return new ConfigError(`${place}: ${config.what}: ${said}`, {
      code: 'config_invalid',
      hint: `${config.hint} Nothing was changed.`,
      context,
      cause,
    });
  const isLost = isConnectionLost(thrown);
  return new StorageError(`${place}: ${isLost ? `the fleet's database cannot be reached: ${said}` : said}`, {
    code: 'storage_failed',
    hint: 'Start it, or fix fleet.database, and run again. What was put away stays as it is; a run that could not be recorded is repeated.',
    context,
    cause,
  });
}

interface ConfigMistake {
  readonly what: string;
  readonly hint: string;
}

function findConfigMistake(code: unknown, said: string): ConfigMistake | undefined {
  if (code === '28P01' || code === '28000')
    return { what: 'the server refuses this user', hint: 'Fix user and password in fleet.database.' };
  if (code === '3D000')
    return {
      what: 'the database does not exist',
      hint: 'Create it (CREATE DATABASE), or fix its name in fleet.database.',
    };
  if (code === '42501')
    return {
      what: 'the user of fleet.database may not do this',
      hint: 'Grant it what docs/fleet.md lists, or name another user.',
    };
  if (code === '3F000' || code === '42P01')
    return { what: "the fleet's tables are missing", hint: 'Run `sluice fleet init` once.' };
  if (/unsupported startup parameter/i.test(said))
    return {
      what: 'the pooler refuses a setting that Sluice sends',
      hint: 'Let it ignore statement_timeout and idle_in_transaction_session_timeout; docs/fleet.md has the line.',
    };
  if (/does not support SSL|certificate|self-signed/i.test(said))
    return {
      what: 'the connection cannot be encrypted as asked',
      hint: 'Fix sslmode and sslrootcert in fleet.database.',
    };
  return undefined;
}

/** Whether the connection was lost, or never made: the server was stopped, or the network is away. */
export function isConnectionLost(thrown: unknown): boolean {
  const { code } = thrown as { readonly code?: unknown };
  if (typeof code === 'string' && /^(?:08|57P0|25P03|53300|E[A-Z]+$)/.test(code)) return true;
  return /terminat|connection|timeout|timed out/i.test(readMessage(thrown));
}

function readMessage(thrown: unknown): string {
  // Node reports several addresses that were all tried as one error without a message.
  if (thrown instanceof AggregateError && thrown.message === '')
    return thrown.errors.map((error) => String(error)).join('; ');
  return thrown instanceof Error ? thrown.message : String(thrown);
}
