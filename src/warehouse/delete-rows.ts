import type { Database } from './database.ts';
import { tableName } from './evolve-table.ts';
import { closeVersions, type VersionedTable } from './keep-history.ts';

/** How rows are deleted. */
export interface Deletion {
  /** `soft`: they are kept, with `_deleted_at` set. */
  readonly how: 'soft' | 'hard';
  /** Whether their versions in `<table>_history` are closed. */
  readonly history: boolean;
  readonly runId: string;
  readonly syncedAt: string;
}

/**
 * Deletes the rows listed in a temporary table with `_sluice_row` (a rowid) and `live` (not soft-deleted before).
 * Returns how many of them were live.
 */
export async function deleteRows(
  database: Database,
  versioned: VersionedTable,
  rows: string,
  { how, history, runId, syncedAt }: Deletion,
): Promise<number> {
  const [counts] = await database.all(
    `SELECT count(*) AS n, count(*) FILTER (WHERE live) AS live FROM ${rows}`,
  );
  const live = Number(counts?.['live'] ?? 0);
  if (Number(counts?.['n'] ?? 0) === 0) return 0;
  if (history && live > 0)
    await closeVersions(database, versioned, `SELECT _sluice_row FROM ${rows} WHERE live`, syncedAt);
  const table = tableName(versioned.table);
  if (how === 'hard')
    await database.run(`DELETE FROM ${table} WHERE rowid IN (SELECT _sluice_row FROM ${rows})`);
  else {
    await database.run(
      `UPDATE ${table} SET _deleted_at = $1::TIMESTAMPTZ, _synced_at = $1::TIMESTAMPTZ, _run_id = $2
       WHERE rowid IN (SELECT _sluice_row FROM ${rows} WHERE live)`,
      [syncedAt, runId],
    );
  }
  return live;
}
