import type { MotherDuckDestination } from '../../src/model/destination.ts';
import type { SqlSession } from '../../src/model/sql.ts';
import { quoteIdentifier, quoteLiteral } from '../../src/warehouse/identifiers.ts';

// In place of src/publish/lakehouse/motherduck/attach-motherduck.ts: the service is not within reach of tests, so the token
// is the address of a database on this machine.

export const needs: readonly string[] = [];

/** Attaches the file, or the DuckLake, that the token names, as what the service would call it. */
export async function attachDatabase(
  session: SqlSession,
  { database, token }: Pick<MotherDuckDestination, 'database' | 'token'>,
): Promise<void> {
  const name = quoteIdentifier(database);
  if (!token.startsWith('ducklake:')) {
    await session.run(`ATTACH ${quoteLiteral(token)} AS ${name}`);
    return;
  }
  for (const extension of ['ducklake', 'sqlite_scanner']) await session.run(`LOAD ${extension}`);
  await session.run(`ATTACH ${quoteLiteral(token)} AS ${name} (META_JOURNAL_MODE 'WAL', META_BUSY_TIMEOUT 10000)`);
}
