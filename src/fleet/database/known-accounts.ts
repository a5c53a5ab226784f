import type { FleetDatabase } from './sql.ts';

/** Adds accounts that are new in the config; they are due at once. Returns how many were new. */
export async function addAccounts(database: FleetDatabase, accounts: readonly string[]): Promise<number> {
  const rows = await database.query(
    `INSERT INTO sluice_fleet.accounts (account, next_at)
     SELECT account, clock_timestamp() FROM unnest($1::text[]) AS known (account)
     ON CONFLICT (account) DO NOTHING RETURNING 1`,
    [accounts],
  );
  return rows.length;
}

/** Moves accounts that wait for the schedule to its next time; without one, they wait until somebody asks. Retries stay. */
export async function planAgain(
  database: FleetDatabase,
  {
    names,
    delaysMs,
  }: { readonly names: readonly string[]; readonly delaysMs: readonly (number | undefined)[] },
): Promise<void> {
  await database.query(
    `UPDATE sluice_fleet.accounts AS x SET next_at = clock_timestamp() + due.delay * interval '1 ms'
       FROM unnest($1::text[], $2::float8[]) AS due (account, delay)
      WHERE x.account = due.account AND x.holder IS NULL AND x.failures = 0 AND x.last_exit_code IN (0, 1, 2, 3, 4)
        AND (x.next_at IS NULL OR x.next_at > clock_timestamp())`,
    [names, delaysMs.map((ms) => ms ?? null)],
  );
}
