import type { QuotaMark } from '../quota/travelling-ledger.ts';
import { forgetQueued } from './due-accounts.ts';
import type { FleetDatabase, Row, Sql } from './sql.ts';

/** Objects with pages that were put away during a run, in their order: the later one counts. */
export type PutStages = readonly string[];

/** An account that a worker took: it alone may sync it while the lease lasts. */
export interface TakenAccount {
  readonly account: string;
  readonly token: number;
  /** A holder before it never said that it ended, and may still be at work: not every destination refuses it yet. */
  readonly isTakeover: boolean;
  /** Name of its state folder in the store; undefined before the first run. */
  readonly object: string | undefined;
  readonly stages: PutStages;
  /** What its rows were read with; undefined before the first run. */
  readonly source: StoredSource | undefined;
  /** Somebody asked for a run that accepts a new key; so it is until one has recorded that. */
  readonly acceptsNewKey: boolean;
  readonly jobId: string;
}

/** Fingerprints of a key and of what its streams ask for. */
export interface StoredSource {
  readonly key: string;
  readonly asks: string;
  /** It was accepted that another account has the same key and asks for the same. */
  readonly shares?: boolean | undefined;
}

/** Who takes a lease, and for how long. */
export interface Holder {
  readonly worker: string;
  readonly leaseMs: number;
}

/**
 * Takes an account, if it is due and nobody holds it; undefined otherwise. Its token is higher than every one before. All
 * times are the database's: the clocks of machines may differ.
 */
export async function takeAccount(
  sql: Sql,
  { account, jobId }: { readonly account: string; readonly jobId: string },
  { worker, leaseMs }: Holder,
): Promise<TakenAccount | undefined> {
  const [row] = await sql.query(
    `WITH before AS (SELECT * FROM sluice_fleet.accounts WHERE account = $1 FOR UPDATE)
     UPDATE sluice_fleet.accounts AS x
        SET token = x.token + 1, holder = $2, lease_until = clock_timestamp() + $3 * interval '1 ms',
            is_unsettled = before.holder IS NOT NULL OR before.is_unsettled, started_at = clock_timestamp(), queued_at = NULL, priority = 0, job_id = $4
       FROM before
      WHERE x.account = before.account AND before.paused_at IS NULL AND before.next_at <= clock_timestamp()
        AND (before.holder IS NULL OR before.lease_until < clock_timestamp())
     RETURNING x.token, x.object, x.stages, x.source, x.accepts_new_key,
       before.holder IS NOT NULL OR before.is_unsettled AS is_takeover`,
    [account, worker, leaseMs, jobId],
  );
  if (row === undefined) {
    await forgetQueued(sql, account);
    return undefined;
  }
  await sql.query(
    `UPDATE sluice_fleet.runs SET status = 'lost', finished_at = clock_timestamp()
      WHERE account = $1 AND status = 'running'`,
    [account],
  );
  await sql.query(
    `INSERT INTO sluice_fleet.runs (account, token, worker, started_at, status)
     VALUES ($1, $2, $3, clock_timestamp(), 'running')`,
    [account, row['token'], worker],
  );
  return readTaken(row, account, jobId);
}

function readTaken(row: Row, account: string, jobId: string): TakenAccount {
  return {
    account,
    token: Number(row['token']),
    isTakeover: row['is_takeover'] === true,
    object: (row['object'] as string | null) ?? undefined,
    stages: (row['stages'] as PutStages | null) ?? [],
    source: (row['source'] as StoredSource | null) ?? undefined,
    acceptsNewKey: row['accepts_new_key'] === true,
    jobId,
  };
}

/** An account and the token of its holder. */
export interface HeldLease {
  readonly account: string;
  readonly token: number;
}

/** Renews leases, and returns the accounts of those that are still held; the others are lost. */
export async function renewLeases(
  database: FleetDatabase,
  held: readonly HeldLease[],
  leaseMs: number,
): Promise<ReadonlySet<string>> {
  if (held.length === 0) return new Set();
  const rows = await database.query(
    `UPDATE sluice_fleet.accounts AS x SET lease_until = clock_timestamp() + $3 * interval '1 ms'
       FROM unnest($1::text[], $2::bigint[]) AS held (account, token)
      WHERE x.account = held.account AND x.token = held.token AND x.holder IS NOT NULL
     RETURNING x.account`,
    [held.map(({ account }) => account), held.map(({ token }) => token), leaseMs],
  );
  return new Set(rows.map(({ account }) => String(account)));
}

/**
 * The first statement of every commit of a run: false if the lease was lost. The row stays locked until the transaction
 * ends, so that nobody takes the account in between.
 */
export async function isHeld(sql: Sql, { account, token }: HeldLease): Promise<boolean> {
  const rows = await sql.query(
    `SELECT 1 FROM sluice_fleet.accounts WHERE account = $1 AND token = $2 AND holder IS NOT NULL FOR UPDATE`,
    [account, token],
  );
  return rows.length > 0;
}

/** Records pages that were put away during a run; false if the lease was lost. */
export function recordStages(database: FleetDatabase, held: HeldLease, stages: PutStages): Promise<boolean> {
  return changeHeld(database, held, ['stages', JSON.stringify(stages)]);
}

/** Records what is left of the quota, by the database's clock; false if the lease was lost. */
export function recordQuota(database: FleetDatabase, held: HeldLease, quota: QuotaMark): Promise<boolean> {
  return changeHeld(database, held, ['quota', JSON.stringify(quota)]);
}

/** What runs noted last of the quota of a key, of an account and of all that have used the key, by the database's clock. */
export async function listMarks(
  sql: Sql,
  { account, key }: { readonly account: string; readonly key: string | undefined },
): Promise<readonly QuotaMark[]> {
  const rows = await sql.query(
    `SELECT quota FROM sluice_fleet.accounts WHERE quota IS NOT NULL AND (account = $1 OR quota ->> 'key' = $2)`,
    [account, key ?? null],
  );
  return rows.map(({ quota }) => quota as QuotaMark);
}

/** Records that every destination refuses what comes from earlier holders; false if the lease was lost. */
export function settleTakeover(database: FleetDatabase, held: HeldLease): Promise<boolean> {
  return changeHeld(database, held, ['is_unsettled', false]);
}

async function changeHeld(
  database: FleetDatabase,
  { account, token }: HeldLease,
  [column, value]: readonly [column: 'stages' | 'quota' | 'is_unsettled', value: unknown],
): Promise<boolean> {
  const rows = await database.query(
    `UPDATE sluice_fleet.accounts SET ${column} = $3
      WHERE account = $1 AND token = $2 AND holder IS NOT NULL RETURNING 1`,
    [account, token, value],
  );
  return rows.length > 0;
}
