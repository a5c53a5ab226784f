import type { SqlSession } from '../../model/sql.ts';
import { quoteLiteral } from '../../warehouse/identifiers.ts';
import type { StoredTable } from './lakehouse.ts';
import { beginPart, type ChangedParts, inWork } from './rows.ts';

/**
 * Computes the checksum of each part in the work file, and compares it with the one that was published. The changed ones
 * are in `sluice_changed` then, for other statements of the session.
 *
 * @param held the table of published checksums, as SQL
 * @returns by name of the table; undefined for one that is divided in another way than when it was published: all of its
 * rows may have changed
 */
export async function findChangedParts(
  session: SqlSession,
  held: string,
  tables: readonly StoredTable[],
): Promise<ReadonlyMap<string, ChangedParts | undefined>> {
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
  // A day has no equals sign: what stands before the last one is the column.
  const rows = await session.all(
    `SELECT name, begin, min(day) AS first, max(day) AS last, bool_and(regexp_full_match(day, '\\d{4}-\\d{2}-\\d{2}')) AS are_days
       FROM (SELECT name, regexp_extract(part, '[^=]*$') AS day, part[:len(part) - len(day)] AS begin FROM sluice_changed)
       GROUP BY name, begin`,
  );
  const groups = Map.groupBy(rows, ({ name }) => String(name));
  const changed = new Map<string, ChangedParts | undefined>();
  for (const { name, datedBy } of tables) {
    const [group, ...others] = groups.get(name) ?? [];
    if (group === undefined) continue;
    const { begin, first, last, are_days: areDays } = group;
    const isOwn = others.length === 0 && begin === (datedBy === undefined ? '' : beginPart(datedBy.name));
    // Other days of the calendar, as of a year with five digits, do not sort as texts.
    const days = areDays === true ? { first: String(first), last: String(last) } : {};
    changed.set(name, isOwn ? days : undefined);
  }
  return changed;
}

/** Replaces the published checksums of the parts that changed. */
export async function recordParts(session: SqlSession, held: string): Promise<void> {
  await session.run(`DELETE FROM ${held} WHERE (name, part) IN (SELECT (name, part) FROM sluice_changed)`);
  await session.run(
    `INSERT INTO ${held} SELECT * FROM sluice_parts SEMI JOIN sluice_changed USING (name, part)`,
  );
}
