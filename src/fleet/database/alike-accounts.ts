import type { AccountSource } from '../../model/account.ts';
import type { StoredSource } from './leases.ts';
import type { Sql } from './sql.ts';

/** What accounts of the config read with, by name; those whose settings cannot be read are missing. */
export type ConfigSources = ReadonlyMap<string, StoredSource>;

/**
 * The accounts that read, or have read, with the key that an account has now or had before: their runs look for keys that
 * were swapped or copied.
 */
export async function listAlike(
  sql: Sql,
  { account, source }: { readonly account: string; readonly source: StoredSource | undefined },
  configured: ConfigSources,
): Promise<readonly AccountSource[]> {
  const keys = new Set([configured.get(account)?.key, source?.key].filter((key) => key !== undefined));
  const rows = await sql.query(
    `SELECT account, source FROM sluice_fleet.accounts
      WHERE source ->> 'key' = ANY($1) AND account = ANY($2)`,
    [[...keys], [...configured.keys()]],
  );
  const synced = rows.map((row) => {
    const { key, asks, shares } = row['source'] as StoredSource;
    const name = String(row['account']);
    const now = configured.get(name);
    return { name, key, asks: now?.key === key ? now.asks : asks, asked: asks, shares, isSynced: true };
  });
  const others = [...configured].flatMap(([name, { key, asks }]) =>
    keys.has(key) && !synced.some((one) => one.name === name) ? [{ name, key, asks, isSynced: false }] : [],
  );
  return [...synced, ...others];
}
