import type { Database } from './database.ts';
import { tableName } from './evolve-table.ts';
import { quoteIdentifier } from './identifiers.ts';
import { readScope } from './live-rows.ts';
import { INCOMING } from './project-stage.ts';
import { RELEASED, RETRIED } from './quarantine.ts';

/** Drops incoming rows without a value for the key, which no merge by key could place; they stay in quarantine. */
export async function dropWithoutKey(database: Database, key: readonly string[]): Promise<number> {
  const where = key.map((name) => `${quoteIdentifier(name)} IS NULL`).join(' OR ');
  await database.run(
    `DELETE FROM ${RELEASED} WHERE position IN (SELECT _sluice_position FROM ${INCOMING} WHERE ${where})`,
  );
  return dropIncoming(database, where);
}

/**
 * Drops incoming rows that are older than what is known of their key: the table's row was written after the
 * record was quarantined, or a later record of the same key is tried as well. Returns how many.
 */
export async function dropOutdated(
  database: Database,
  table: string,
  slice: string,
  key: readonly string[],
): Promise<number> {
  const { reach, isMarkable } = await readScope(database, table, slice);
  const same = key.map(
    (name) => `t.${quoteIdentifier(name)} IS NOT DISTINCT FROM s.${quoteIdentifier(name)}`,
  );
  const writtenAt = isMarkable ? 'greatest(t._synced_at, t._deleted_at)' : 't._synced_at';
  const newerRow = `_sluice_position IN (SELECT s._sluice_position FROM ${INCOMING} s
    JOIN ${RETRIED} r ON r.position = s._sluice_position
    JOIN ${tableName(table)} t ON ${same.join(' AND ')} WHERE ${reach} AND ${writtenAt} > r.quarantined_at)`;
  const partition = key.map(quoteIdentifier).join(', ');
  const laterRecord = `_sluice_position NOT IN (SELECT max(_sluice_position) FROM ${INCOMING} GROUP BY ${partition})`;
  return (await dropIncoming(database, laterRecord)) + (await dropIncoming(database, newerRow));
}

async function dropIncoming(database: Database, where: string): Promise<number> {
  const count = await database.count(`SELECT count(*) FROM ${INCOMING} WHERE ${where}`);
  if (count > 0) await database.run(`DELETE FROM ${INCOMING} WHERE ${where}`);
  return count;
}
