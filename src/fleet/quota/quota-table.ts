/** What the store needs of a connection to Postgres; a driver's own types stay behind it. */
export interface QuotaClient {
  /**
   * Runs one statement with `$1` for values, or several without values, whose rows nobody reads.
   * Numbers of type float8 come as numbers. Rejects once the connection is lost.
   */
  query(
    text: string,
    values?: readonly string[],
  ): Promise<{ readonly rows: readonly Readonly<Record<string, unknown>>[] }>;
  /** Ends the connection at once, also one whose server is silent: nothing of it may keep the process alive. */
  end(): Promise<void>;
}

/**
 * The table of the quotas, a row for each key; statements for migrations, which need the right to create a schema. Rows are
 * rewritten with every request: half of each page is left free, so that new versions of a row stay in its page.
 */
export const quotaTableSql = `
CREATE SCHEMA IF NOT EXISTS sluice_fleet;
CREATE TABLE IF NOT EXISTS sluice_fleet.quota (
  key_hash text PRIMARY KEY,
  state text NOT NULL DEFAULT '',
  revision bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
`;

/**
 * Begins a change. A crash may forget the last of them, and the next answer's headers tell. A machine that stops in the
 * middle loses the row before the others have given up waiting for it.
 */
const beginSql = `
BEGIN;
SET LOCAL synchronous_commit = off;
SET LOCAL lock_timeout = '5s';
SET LOCAL idle_in_transaction_session_timeout = '4s'`;

const clockSql = '(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now';

// In one SELECT the clock can be read before the wait for the row, and is read again only if the row changed meanwhile.
const lockSql = `
WITH locked AS MATERIALIZED (SELECT state FROM sluice_fleet.quota WHERE key_hash = $1 FOR UPDATE)
SELECT state, ${clockSql} FROM locked`;

const insertSql = 'INSERT INTO sluice_fleet.quota (key_hash) VALUES ($1) ON CONFLICT DO NOTHING';

const updateSql = 'UPDATE sluice_fleet.quota SET state = $2, revision = revision + 1 WHERE key_hash = $1';

/** A row that is locked until the transaction ends. */
export interface LockedRow {
  /** JSON of a state by the server's clock; empty: nobody has used the key yet. */
  readonly text: string;
  /** The server's clock once the row was locked, epoch ms. */
  readonly serverMs: number;
  /** When the row was asked for, by `readMonotonic`. */
  readonly askedMs: number;
}

/** Reads the server's clock, epoch ms. Rejects as `query` does. */
export async function readServerTime(client: QuotaClient): Promise<number> {
  const { rows } = await client.query(`SELECT ${clockSql}`);
  return Number(rows[0]?.['now']);
}

/** Begins a transaction and locks the row of a key, which is made where it is missing. Rejects as `query` does. */
export async function lockRow(
  client: QuotaClient,
  keyHash: string,
  readMonotonic: () => number,
): Promise<LockedRow> {
  await client.query(beginSql);
  const row = await findRow(client, keyHash, readMonotonic);
  if (row !== undefined) return row;
  await client.query(insertSql, [keyHash]);
  const made = await findRow(client, keyHash, readMonotonic);
  if (made === undefined) throw new Error('the row of the key cannot be made');
  return made;
}

async function findRow(
  client: QuotaClient,
  keyHash: string,
  readMonotonic: () => number,
): Promise<LockedRow | undefined> {
  const askedMs = readMonotonic();
  const { rows } = await client.query(lockSql, [keyHash]);
  const [row] = rows;
  return row && { text: String(row['state']), serverMs: Number(row['now']), askedMs };
}

/** Writes the state of a locked row, and ends the transaction. Rejects as `query` does. */
export async function writeRow(client: QuotaClient, keyHash: string, text: string): Promise<void> {
  await client.query(updateSql, [keyHash, text]);
  await client.query('COMMIT');
}

/** Ends the transaction and changes nothing. Rejects as `query` does. */
export async function leaveRow(client: QuotaClient): Promise<void> {
  await client.query('ROLLBACK');
}
