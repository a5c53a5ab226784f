import type { Database } from './database.ts';
import { historyOf, readColumns, tableName } from './evolve-table.ts';
import { quoteIdentifier } from './identifiers.ts';
import { dropPairs, PAIRS, pairRows, sumRows } from './pair-rows.ts';
import { matchColumns } from './row-equality.ts';

/** A table with a history of its rows. */
export interface VersionedTable {
  readonly table: string;
  /** Stored columns, without Sluice's own. */
  readonly columns: readonly string[];
  /** Condition for the rows of `t` that are not soft-deleted. */
  readonly live: string;
  readonly isSliced: boolean;
}

// An open version equals its row: the same values, the same run, valid since the row last changed.
const OWN = ['_slice', '_run_id', '_valid_from', '_valid_to'];
const CLOSING = 'temp."~closing"';
const UNPAIRED = `SELECT row_id FROM ${PAIRS} WHERE other_id IS NULL`;

/**
 * Makes the open versions equal to the live rows, when history is first enabled or after it was switched off. New
 * versions start when their row was written; versions of gone rows are closed before that.
 */
export async function catchUpHistory(
  database: Database,
  versioned: VersionedTable,
  syncedAt: string,
): Promise<void> {
  if (await isInStep(database, versioned)) return;
  const history = tableName(historyOf(versioned.table));
  const isNew = (await database.count(`SELECT count(*) FROM ${history} WHERE _valid_to IS NULL`)) === 0;
  if (isNew) return openVersions(database, versioned, versioned.live);
  await pairWithVersions(database, versioned);
  await moveVersions(database, versioned, syncedAt);
}

/**
 * Makes the open versions equal to the live rows of a table that was rebuilt. What the current rules changed begins or
 * ends with the rebuild, whenever its row was read: before that, the table did not have it, or still had it.
 */
export async function renewHistory(
  database: Database,
  versioned: VersionedTable,
  rebuiltAt: string,
): Promise<void> {
  await pairWithVersions(database, versioned);
  await database.run(
    `UPDATE ${tableName(versioned.table)} SET _synced_at = $1::TIMESTAMPTZ WHERE rowid IN (${UNPAIRED})`,
    [rebuiltAt],
  );
  await moveVersions(database, versioned, rebuiltAt);
}

/** Closes the versions that no row was paired with, and opens one for each row without a version. */
async function moveVersions(database: Database, versioned: VersionedTable, syncedAt: string): Promise<void> {
  const first = `SELECT least(min(_synced_at), $1::TIMESTAMPTZ) FROM ${tableName(versioned.table)} WHERE rowid IN (${UNPAIRED})`;
  await database.run(
    `UPDATE ${tableName(historyOf(versioned.table))}
     SET _valid_to = greatest(_valid_from, coalesce((${first}), $1::TIMESTAMPTZ))
     WHERE rowid IN (SELECT other_id FROM ${PAIRS} WHERE row_id IS NULL)`,
    [syncedAt],
  );
  await openVersions(database, versioned, `t.rowid IN (${UNPAIRED})`);
  await dropPairs(database);
}

/** Opens a version for each row `t` that meets a condition. */
export async function openVersions(
  database: Database,
  versioned: VersionedTable,
  rows: string,
): Promise<void> {
  const values = [...valuesOf(versioned).map(quoteIdentifier), '_run_id', '_synced_at AS _valid_from'];
  await database.run(
    `INSERT INTO ${tableName(historyOf(versioned.table))} BY NAME
     SELECT ${values.join(', ')} FROM ${tableName(versioned.table)} t WHERE ${rows}`,
  );
}

/**
 * Pairs each live row with its open version. A row that was rewritten unchanged, e.g. from an archive, keeps the age of
 * its version.
 */
async function pairWithVersions(database: Database, versioned: VersionedTable): Promise<void> {
  const table = tableName(versioned.table);
  const history = tableName(historyOf(versioned.table));
  const values = valuesOf(versioned).map(quoteIdentifier);
  // A row has no value in a column that only its table's versions have.
  const former = (await listFormer(database, versioned)).map((name) => `${quoteIdentifier(name)} IS NULL`);
  await pairRows(
    database,
    {
      table,
      where: versioned.live,
      values: [...values, ...former.map(() => 'true')],
      order: '_synced_at, _run_id',
    },
    {
      table: history,
      where: '_valid_to IS NULL',
      values: [...values, ...former],
      order: '_valid_from, _run_id',
    },
  );
  const pairs = `${PAIRS} p, ${history} h WHERE p.row_id = t.rowid AND p.other_id = h.rowid
    AND (h._run_id IS DISTINCT FROM t._run_id OR h._valid_from IS DISTINCT FROM t._synced_at)`;
  if ((await database.count(`SELECT count(*) FROM ${table} t, ${pairs}`)) === 0) return;
  await database.run(
    `UPDATE ${table} AS t SET _run_id = h._run_id, _synced_at = h._valid_from FROM ${pairs}`,
  );
}

/** Compares checksums of runs and times: a change of only one table is detected. */
async function isInStep(database: Database, { table, live, isSliced }: VersionedTable): Promise<boolean> {
  const slice = isSliced ? ['_slice'] : [];
  const rows = { table: tableName(table), where: live, values: ['_run_id', '_synced_at', ...slice] };
  const versions = {
    table: tableName(historyOf(table)),
    where: '_valid_to IS NULL',
    values: ['_run_id', '_valid_from', ...slice],
  };
  return (await sumRows(database, rows)) === (await sumRows(database, versions));
}

/** Closes the versions of rows that are about to change or be deleted; `rows` selects their rowids. */
export async function closeVersions(
  database: Database,
  versioned: VersionedTable,
  rows: string,
  syncedAt: string,
): Promise<void> {
  const history = tableName(historyOf(versioned.table));
  const identity = [...valuesOf(versioned), '_run_id', '_valid_from'];
  const names = valuesOf(versioned).map(quoteIdentifier);
  // Rows equal in all these columns have equal versions: it does not matter which one is closed.
  await database.run(`CREATE OR REPLACE TEMP TABLE "~closing" AS
    SELECT ${[...names, '_run_id', '_synced_at AS _valid_from'].join(', ')},
      row_number() OVER () AS _sluice_group, count(*) AS _sluice_count
    FROM ${tableName(versioned.table)} WHERE rowid IN (${rows}) GROUP BY ${[...names, '_run_id', '_synced_at'].join(', ')}`);
  const match = await matchColumns(database, CLOSING, identity);
  await database.run(`CREATE OR REPLACE TEMP TABLE "~ended" AS SELECT t.rowid AS _sluice_row
    FROM ${CLOSING} s JOIN ${history} t ON ${match} WHERE t._valid_to IS NULL
    QUALIFY row_number() OVER (PARTITION BY s._sluice_group) <= s._sluice_count`);
  await database.run(
    `UPDATE ${history} SET _valid_to = greatest(_valid_from, $1::TIMESTAMPTZ)
     WHERE rowid IN (SELECT _sluice_row FROM temp."~ended")`,
    [syncedAt],
  );
  await database.run(`DROP TABLE ${CLOSING}`);
  await database.run('DROP TABLE temp."~ended"');
}

/** Deletes versions that were closed before a given time, in all histories. Returns their number. */
export async function purgeVersions(database: Database, before: string): Promise<number> {
  const tables = await database.all(
    `SELECT table_name FROM duckdb_columns() WHERE database_name = current_database() AND schema_name = 'main'
       AND column_name IN ('_valid_from', '_valid_to') AND table_name LIKE '%#_history' ESCAPE '#'
     GROUP BY table_name HAVING count(*) = 2 ORDER BY table_name`,
  );
  let purged = 0;
  for (const row of tables) {
    const history = tableName(String(row['table_name']));
    const where = '_valid_to < $1::TIMESTAMPTZ';
    const count = await database.count(`SELECT count(*) FROM ${history} WHERE ${where}`, [before]);
    if (count > 0) await database.run(`DELETE FROM ${history} WHERE ${where}`, [before]);
    purged += count;
  }
  return purged;
}

/** Columns of the versions that the table has no more, as the current rules leave them out. */
async function listFormer(database: Database, versioned: VersionedTable): Promise<readonly string[]> {
  const current = new Set([...versioned.columns, ...OWN]);
  const columns = await readColumns(database, historyOf(versioned.table));
  return [...columns.keys()].filter((name) => !current.has(name));
}

function valuesOf({ columns, isSliced }: VersionedTable): readonly string[] {
  return isSliced ? [...columns, '_slice'] : columns;
}
