import type { Database } from './database.ts';
import { tableName } from './evolve-table.ts';
import { quoteIdentifier } from './identifiers.ts';
import type { VersionedTable } from './keep-history.ts';
import type { RowScope } from './live-rows.ts';
import { INCOMING } from './incoming.ts';
import { matchColumns } from './row-equality.ts';

/**
 * Incoming rows that are in the table: `_sluice_position`, `_sluice_row` (the table's rowid) and `change`: `same`,
 * `changed`, `moved` for a row of another slice or none, whatever its values, or `back` for one that was soft-deleted.
 */
export const MATCHES = 'temp."~matches"';

/** Positions of incoming rows that are not in the table. */
export const FRESH = 'temp."~fresh"';

/** Rowids of further rows with the key of an incoming row, in addition to the matched one. */
export const SPARES = 'temp."~spares"';

/** The key of rows, and the columns in which rows without a slice must also match to be adopted. */
export interface RowKey {
  readonly columns: readonly string[];
  readonly adoptBy: readonly string[];
}

/** A table and its stored columns. */
type MatchedTable = Pick<VersionedTable, 'table' | 'columns'>;

/**
 * Matches each incoming row with a row of the table by key. Keys are unique in the incoming rows but may repeat in
 * the table: in removed slices, or because of an earlier key. Then live rows are preferred to deleted ones, rows of
 * the slice to rows to adopt, and equal rows to different ones.
 */
export async function matchByKey(
  database: Database,
  { table, columns }: MatchedTable,
  key: RowKey,
  { reach, placed, live }: RowScope,
): Promise<void> {
  const values = columns.filter((name) => !key.columns.includes(name)).map(quoteIdentifier);
  const differs = values.map((name) => `s.${name} IS DISTINCT FROM t.${name}`).join(' OR ') || 'false';
  const adoptable = key.adoptBy
    .map(quoteIdentifier)
    .map((name) => `s.${name} IS NOT DISTINCT FROM t.${name}`);
  const match = await matchColumns(database, INCOMING, key.columns);
  await database.run(`CREATE OR REPLACE TEMP TABLE "~matches" AS
    SELECT s._sluice_position, t.rowid AS _sluice_row, (${placed}) AS placed, (${differs}) AS differs,
      CASE WHEN NOT (${live}) THEN 'back' WHEN NOT (${placed}) THEN 'moved'
        WHEN ${differs} THEN 'changed' ELSE 'same' END AS change
    FROM ${INCOMING} s JOIN ${tableName(table)} t ON ${match}
    WHERE ${reach} AND ((${placed}) OR (${adoptable.join(' AND ') || 'true'}))`);
  await listFresh(database);
  const known = `(SELECT count(*) FROM ${INCOMING}) - (SELECT count(*) FROM ${FRESH})`;
  if ((await database.count(`SELECT (SELECT count(*) FROM ${MATCHES}) - (${known})`)) === 0) return;
  await database.run(`INSERT INTO ${SPARES} SELECT _sluice_row FROM ${MATCHES} QUALIFY row_number() OVER
    (PARTITION BY _sluice_position ORDER BY change = 'back', NOT placed, differs, _sluice_row DESC) > 1`);
  await database.run(`DELETE FROM ${MATCHES} WHERE _sluice_row IN (SELECT _sluice_row FROM ${SPARES})`);
}

/**
 * Matches each incoming row by all of its columns. Of equal rows, the nth incoming one is matched with the nth of the
 * table. Soft-deleted rows are not matched: an equal incoming row is a new row.
 */
export async function matchAsWhole(
  database: Database,
  { table, columns }: MatchedTable,
  { reach, placed, live }: RowScope,
): Promise<void> {
  const partition = columns.length === 0 ? '' : `PARTITION BY ${columns.map(quoteIdentifier).join(', ')}`;
  await database.run(`CREATE OR REPLACE TEMP TABLE "~numbered" AS SELECT _sluice_position,
      min(_sluice_position) OVER alike AS _sluice_group, row_number() OVER alike AS _sluice_occurrence
    FROM ${INCOMING} WINDOW alike AS (${partition})`);
  // Only one of equal rows is looked up, so that no more rows of the table are numbered than were read.
  await database.run(`CREATE OR REPLACE TEMP TABLE "~matches" AS
    SELECT n._sluice_position, f._sluice_row, f.change FROM temp."~numbered" n JOIN (
      SELECT s._sluice_position AS _sluice_group, t.rowid AS _sluice_row,
        CASE WHEN ${placed} THEN 'same' ELSE 'moved' END AS change,
        row_number() OVER (PARTITION BY s._sluice_position ORDER BY NOT (${placed}), t.rowid) AS _sluice_occurrence
      FROM (SELECT * FROM ${INCOMING} WHERE _sluice_position IN (SELECT _sluice_group FROM temp."~numbered")) s
      JOIN ${tableName(table)} t ON ${await matchColumns(database, INCOMING, columns)} WHERE ${reach} AND ${live}
    ) f ON f._sluice_group = n._sluice_group AND f._sluice_occurrence = n._sluice_occurrence`);
  await listFresh(database);
  await database.run('DROP TABLE temp."~numbered"');
}

/** The same for an empty table: there is nothing to compare. */
export async function matchNothing(database: Database): Promise<void> {
  await database.run(
    'CREATE OR REPLACE TEMP TABLE "~matches" (_sluice_position BIGINT, _sluice_row BIGINT, change VARCHAR)',
  );
  await listFresh(database);
}

async function listFresh(database: Database): Promise<void> {
  await database.run('CREATE OR REPLACE TEMP TABLE "~spares" (_sluice_row BIGINT)');
  await database.run(`CREATE OR REPLACE TEMP TABLE "~fresh" AS
    SELECT _sluice_position FROM ${INCOMING} ANTI JOIN ${MATCHES} USING (_sluice_position)`);
}
