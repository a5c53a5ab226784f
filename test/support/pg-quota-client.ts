import pg from 'pg';
import type { QuotaClient } from '../../src/fleet/quota/quota-table.ts';

/** A connection to a real Postgres, as the quota's store wants it. */
export async function connectQuotaClient(url: string): Promise<QuotaClient> {
  const client = new pg.Client({ connectionString: url });
  // A connection that is lost while nobody asks anything says so here; the next statement fails.
  client.on('error', () => {});
  await client.connect();
  return {
    query: (text, values = []) => client.query(text, [...values]),
    end: async () => {
      await client.end();
    },
  };
}
