import { createHash } from 'node:crypto';
import type { SqlSession } from '../../../model/sql.ts';
import type { Lease } from '../../../model/state-lock.ts';
import { quoteLiteral } from '../../../warehouse/identifiers.ts';
import { ask, execute } from './server-tables.ts';

/** Says in the server's list of sessions which holder of the lease has the transaction open. */
export async function nameHolder(session: SqlSession, schema: string, lease: Lease): Promise<void> {
  await execute(session, `SET LOCAL application_name = ${quoteLiteral(`${describe(schema)}${lease.token}`)}`);
}

/** Ends sessions with a transaction of an earlier holder: what it did not commit is rolled back. */
export async function endEarlierHolders(session: SqlSession, schema: string, lease: Lease): Promise<void> {
  const prefix = describe(schema);
  await ask(
    session,
    `SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity
       WHERE datname = current_database() AND usename = current_user AND starts_with(application_name, ${quoteLiteral(prefix)})
         AND substr(application_name, ${prefix.length + 1})::bigint < ${lease.token}`,
  );
}

// The server cuts names after 63 bytes, and those of schemas may have as many.
function describe(schema: string): string {
  return `sluice ${createHash('sha256').update(schema).digest('hex').slice(0, 16)} t`;
}
