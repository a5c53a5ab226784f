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
