import type { AccountQueue } from './queue.ts';
import type { FleetDatabase, Sql } from './sql.ts';

/** As many as one look takes, so that a transaction stays short. */
const MOST_AT_ONCE = 1_000;

/**
 * Adds accounts whose time has come to the queue, and those whose holder is gone: its lease has ended. Several workers
 * may do this at once.
 *
 * @param known the accounts of the config
 * @returns how many were added
 */
export function queueDue(
  database: FleetDatabase,
  queue: AccountQueue,
  known: readonly string[],
): Promise<number> {
  return database.transaction(async (sql) => {
    // A job that was lost, by a restore of the database for example, is made again after a while.
    const rows = await sql.query(
      `SELECT account, priority, job_id FROM sluice_fleet.accounts
        WHERE account = ANY($1) AND paused_at IS NULL AND next_at <= clock_timestamp()
          AND (queued_at IS NULL OR queued_at < clock_timestamp() - interval '10 minutes')
          AND (holder IS NULL OR lease_until < clock_timestamp())
        ORDER BY priority DESC, next_at LIMIT ${MOST_AT_ONCE} FOR UPDATE SKIP LOCKED`,
      [known],
    );
    if (rows.length === 0) return 0;
    const due = rows.map((row) => ({
      account: String(row['account']),
      priority: Number(row['priority']),
    }));
    const dead = rows.flatMap(({ job_id: id }) => (typeof id === 'string' ? [id] : []));
    await queue.remove(sql, dead);
    await queue.add(sql, due);
    await sql.query(
      'UPDATE sluice_fleet.accounts SET queued_at = clock_timestamp(), job_id = NULL WHERE account = ANY($1)',
      [due.map(({ account }) => account)],
    );
    return due.length;
  });
}

/** Lets an account be queued again whose job nobody took. */
export async function forgetQueued(sql: Sql, account: string): Promise<void> {
  await sql.query('UPDATE sluice_fleet.accounts SET queued_at = NULL WHERE account = $1 AND holder IS NULL', [
    account,
  ]);
}
