import type { SqlSession } from '../model/sql.ts';
import { quoteIdentifier } from '../warehouse/identifiers.ts';

/** Column types that hold a day. */
export const DATED: readonly string[] = ['DATE', 'TIMESTAMP', 'TIMESTAMP WITH TIME ZONE'];

/**
 * The type that Parquet files hold a column of HUGEINT as: they have no 128-bit integers, and the engine would write
 * rounded doubles.
 *
 * @param table in SQL
 * @param heldAs the type before, if there is one; text stays text
 */
export async function chooseHuge(
  session: SqlSession,
  table: string,
  name: string,
  heldAs: string | undefined,
): Promise<string> {
  if (heldAs === 'VARCHAR') return heldAs;
  const most = '9'.repeat(38);
  const [row] = await session.all(
    `SELECT coalesce(bool_and(${quoteIdentifier(name)} BETWEEN -${most}::HUGEINT AND ${most}::HUGEINT), true) AS fits
       FROM ${table}`,
  );
  return row?.['fits'] === true ? 'DECIMAL(38,0)' : 'VARCHAR';
}

/** Hash of a row with a value of each type. It changes when an engine version hashes differently. */
export async function describeHashes(session: SqlSession): Promise<string> {
  const [row] = await session.all(
    `SELECT hash("a row")::VARCHAR AS hash FROM (SELECT 1::BIGINT AS a, 'text' AS b, 1.5::DOUBLE AS c, true AS d,
       DATE '2026-01-31' AS e, TIMESTAMPTZ '2026-01-31 12:00:00+00' AS f, 1.5::DECIMAL(18, 3) AS g, NULL::VARCHAR AS h,
       9::HUGEINT AS i, 'a longer text than fits into a value' AS j) AS "a row"`,
  );
  return String(row?.['hash']);
}
