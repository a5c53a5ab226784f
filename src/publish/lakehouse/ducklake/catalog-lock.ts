import type { SqlSession } from '../../../model/sql.ts';
import { quoteLiteral } from '../../../warehouse/identifiers.ts';
import { describeOptions } from '../login-postgres.ts';

/** The catalog's database, beside the lake. */
const NAME = 'sluice_lock';
const PAUSE_MS = 50;

/** Attaches the database of a catalog for `waitForLock`; its login is there. */
export async function attachLock(session: SqlSession, url: URL): Promise<void> {
  await session.run(
    `ATTACH ${quoteLiteral(describeOptions(url))} AS ${NAME} (TYPE postgres, READ_ONLY, SECRET sluice_catalog)`,
  );
}

/**
 * Waits in the transaction that is open until no other process publishes to the catalog, or for as long as given. It
 * spares both their conflicts, and nothing more: without it, one of them fails when it commits, and is done again.
 */
export async function waitForLock(session: SqlSession, longestMs: number): Promise<void> {
  const key = `hashtext('sluice ducklake')`;
  // The pause depends on the row before it: on its own, the server would pause first.
  const tries = `WITH RECURSIVE tries(n, got) AS (SELECT 0, pg_try_advisory_xact_lock(${key})
    UNION ALL SELECT n + 1, pg_try_advisory_xact_lock(${key}) FROM tries, LATERAL (SELECT pg_sleep(${PAUSE_MS / 1000} + 0 * n)) AS pause
      WHERE NOT got AND n < ${Math.floor(longestMs / PAUSE_MS)}) SELECT count(*) AS tries FROM tries`;
  await session.all(`SELECT * FROM postgres_query('${NAME}', ${quoteLiteral(tries)})`);
}
