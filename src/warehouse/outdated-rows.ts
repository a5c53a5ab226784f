import type { Database } from './database.ts';
import { tableName } from './evolve-table.ts';
import { isKeyMissing } from './find-key.ts';
import { quoteIdentifier } from './identifiers.ts';
import { readScope } from './live-rows.ts';
import { deleteIncoming, INCOMING } from './incoming.ts';
import { RELEASED, RETRIED } from './quarantine.ts';

/** Drops incoming rows without a key value, which cannot be merged by key; they stay in quarantine. */
export async function dropWithoutKey(
  database: Database,
  fields: readonly (readonly string[])[],
): Promise<number> {
  const where = isKeyMissing(fields);
  await database.run(
    `DELETE FROM ${RELEASED} WHERE position IN (SELECT _sluice_position FROM ${INCOMING} WHERE ${where})`,
  );
  return dropRows(database, where);
}

/** What a quarantined record is compared with before it becomes a row. */
export interface OutdatedQuestion {
  readonly table: string;
  readonly slice: string;
  readonly key: readonly string[] | undefined;
  /** Whether the table keeps rows that the source no longer has. */
  readonly keepsAbsent: boolean;
}

/**
 * Drops outdated incoming rows: the table's row of the same key was written after the record was quarantined, a later
 * record of the same key is retried as well, or a later scan showed that the source no longer has the record. Call
 * once the table has its current columns. Returns the number of dropped rows.
 */
export async function dropOutdated(database: Database, question: OutdatedQuestion): Promise<number> {
  const { table, slice, key, keepsAbsent } = question;
  let dropped = 0;
  if (key !== undefined) {
    const partition = key.map(quoteIdentifier).join(', ');
    const latest = `SELECT max(_sluice_position) FROM ${INCOMING} GROUP BY ${partition}`;
    dropped += await dropRows(database, `_sluice_position NOT IN (${latest})`);
    const { reach, isMarkable } = await readScope(database, table, slice);
    const same = key.map(
      (name) => `t.${quoteIdentifier(name)} IS NOT DISTINCT FROM s.${quoteIdentifier(name)}`,
    );
    // A rebuild may give a row its own time, but not its run: the record is compared with when the row was read.
    const writtenAt = `least(${isMarkable ? 'greatest(t._synced_at, t._deleted_at)' : 't._synced_at'}, u.finished_at)`;
    const newer = `SELECT s._sluice_position FROM ${INCOMING} s
      JOIN ${RETRIED} r ON r.position = s._sluice_position
      JOIN ${tableName(table)} t ON ${same.join(' AND ')}
      LEFT JOIN _sluice.runs u ON u.run_id = t._run_id WHERE ${reach} AND (r.absent OR ${writtenAt} > r.quarantined_at)`;
    dropped += await dropRows(database, `_sluice_position IN (${newer})`);
  }
  if (!keepsAbsent)
    dropped += await dropRows(database, `_sluice_position IN (SELECT position FROM ${RETRIED} WHERE absent)`);
  return dropped;
}

async function dropRows(database: Database, where: string): Promise<number> {
  const count = await database.count(`SELECT count(*) FROM ${INCOMING} WHERE ${where}`);
  if (count > 0) await deleteIncoming(database, where);
  return count;
}
