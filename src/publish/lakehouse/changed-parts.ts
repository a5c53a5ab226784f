import type { SqlSession } from '../../model/sql.ts';
import { quoteLiteral } from '../../warehouse/identifiers.ts';
import type { StoredTable } from './lakehouse.ts';
import { type ChangedParts, inWork } from './rows.ts';

/**
 * Computes the checksum of each part in the work file, and compares it with the one that was published. The changed ones
 * are in `sluice_changed` then, for other statements of the session.
 *
 * @param held the table of published checksums, as SQL
 * @returns by name of the table
 */
export async function findChangedParts(
  session: SqlSession,
  held: string,
  tables: readonly StoredTable[],
): Promise<ReadonlyMap<string, ChangedParts>> {
  await session.run(
    'CREATE OR REPLACE TEMP TABLE sluice_parts (name VARCHAR, part VARCHAR, rows BIGINT, sum VARCHAR)',
  );
  for (const table of tables) {
    const { from, hash, part } = inWork(table);
    await session.run(
      `INSERT INTO sluice_parts SELECT ${quoteLiteral(table.name)}, ${part}, count(*), sum(${hash})::VARCHAR
         FROM ${from} GROUP BY ALL`,
    );
  }
  await session.run(
    `CREATE OR REPLACE TEMP TABLE sluice_changed AS
       SELECT name, part FROM sluice_parts AS now FULL JOIN ${held} AS held USING (name, part)
       WHERE now.rows IS DISTINCT FROM held.rows OR now.sum IS DISTINCT FROM held.sum`,
  );
  const rows = await session.all(
    `SELECT name, min(part) AS first, max(part) AS last, bool_and(regexp_full_match(part, '\\d{4}-\\d{2}-\\d{2}')) AS are_days
       FROM sluice_changed GROUP BY name`,
  );
  return new Map(
    rows.map(({ name, first, last, are_days: areDays }) => [
      String(name),
      // Other days of the calendar, as of a year with five digits, do not sort as texts.
      areDays === true ? { first: String(first), last: String(last) } : {},
    ]),
  );
}

/** Replaces the published checksums of the parts that changed. */
export async function recordParts(session: SqlSession, held: string): Promise<void> {
  await session.run(`DELETE FROM ${held} WHERE (name, part) IN (SELECT (name, part) FROM sluice_changed)`);
  await session.run(
    `INSERT INTO ${held} SELECT * FROM sluice_parts SEMI JOIN sluice_changed USING (name, part)`,
  );
}
