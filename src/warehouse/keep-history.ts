import type { Database } from './database.ts';
import { historyOf, tableName } from './evolve-table.ts';
import { quoteIdentifier } from './identifiers.ts';
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
const CLOSING = 'temp."~closing"';

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
  const table = tableName(versioned.table);
  const history = tableName(historyOf(versioned.table));
  const isNew = (await database.count(`SELECT count(*) FROM ${history} WHERE _valid_to IS NULL`)) === 0;
  let opened = versioned.live;
  if (!isNew) {
    await pairWithVersions(database, versioned);
    await alignWithVersions(database, versioned);
    opened = 't.rowid IN (SELECT row_id FROM temp."~pairs" WHERE version_id IS NULL)';
    await database.run(
      `UPDATE ${history} SET _valid_to = greatest(_valid_from,
         coalesce((SELECT least(min(_synced_at), $1::TIMESTAMPTZ) FROM ${table} t WHERE ${opened}), $1::TIMESTAMPTZ))
       WHERE rowid IN (SELECT version_id FROM temp."~pairs" WHERE row_id IS NULL)`,
      [syncedAt],
    );
  }
  const values = [...valuesOf(versioned).map(quoteIdentifier), '_run_id', '_synced_at AS _valid_from'];
  await database.run(
    `INSERT INTO ${history} BY NAME SELECT ${values.join(', ')} FROM ${table} t WHERE ${opened}`,
  );
  await database.run('DROP TABLE IF EXISTS temp."~pairs"');
}

/** Pairs each live row with its open version by value: the nth of equal rows with the nth of equal versions. */
async function pairWithVersions(database: Database, versioned: VersionedTable): Promise<void> {
  const values = valuesOf(versioned).map(quoteIdentifier);
  const partition = values.length === 0 ? '' : `PARTITION BY ${values.join(', ')}`;
  const number = (order: string) =>
    `row_number() OVER (${partition} ORDER BY ${order}) AS _sluice_occurrence`;
  const alike = [...values, '_sluice_occurrence'].map((name) => `h.${name} IS NOT DISTINCT FROM t.${name}`);
  await database.run(`CREATE OR REPLACE TEMP TABLE "~pairs" AS SELECT t._sluice_row AS row_id, h._sluice_row AS version_id
    FROM (SELECT ${[...values, 't.rowid AS _sluice_row'].join(', ')}, ${number('_synced_at, _run_id')}
      FROM ${tableName(versioned.table)} t WHERE ${versioned.live}) t
    FULL JOIN (SELECT ${[...values, 'h.rowid AS _sluice_row'].join(', ')}, ${number('_valid_from, _run_id')}
      FROM ${tableName(historyOf(versioned.table))} h WHERE _valid_to IS NULL) h ON ${alike.join(' AND ')}`);
}

/** A row that was rewritten unchanged, e.g. from an archive, keeps the age of its version. */
async function alignWithVersions(database: Database, { table }: VersionedTable): Promise<void> {
  const pairs = `temp."~pairs" p, ${tableName(historyOf(table))} h WHERE p.row_id = t.rowid AND p.version_id = h.rowid
    AND (h._run_id IS DISTINCT FROM t._run_id OR h._valid_from IS DISTINCT FROM t._synced_at)`;
  if ((await database.count(`SELECT count(*) FROM ${tableName(table)} t, ${pairs}`)) === 0) return;
  await database.run(
    `UPDATE ${tableName(table)} AS t SET _run_id = h._run_id, _synced_at = h._valid_from FROM ${pairs}`,
  );
}

/** Compares checksums of runs and times: a change of only one table is detected. */
async function isInStep(database: Database, versioned: VersionedTable): Promise<boolean> {
  const slice = versioned.isSliced ? ', _slice' : '';
  const sum = (time: string) =>
    `count(*) || ' ' || coalesce(sum(hash(_run_id, ${time}${slice})), 0)::VARCHAR AS sum`;
  const [rows] = await database.all(
    `SELECT ${sum('_synced_at')} FROM ${tableName(versioned.table)} t WHERE ${versioned.live}`,
  );
  const [versions] = await database.all(
    `SELECT ${sum('_valid_from')} FROM ${tableName(historyOf(versioned.table))} WHERE _valid_to IS NULL`,
  );
  return rows?.['sum'] === versions?.['sum'];
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

function valuesOf({ columns, isSliced }: VersionedTable): readonly string[] {
  return isSliced ? [...columns, '_slice'] : columns;
}
