import type { Database } from '../../warehouse/database.ts';
import type { StoredTable } from './lakehouse.ts';
import type { LakePlace } from './names.ts';
import { type ChangedParts, describeFilter, inLake, inWork, listColumns, sortRows } from './rows.ts';

/** What was written to a table. */
export interface RowsChange {
  readonly inserted: number;
  readonly deleted: number;
}

/** Writes all rows of the work file into a table that is empty. */
export async function fillTable(
  database: Database,
  place: LakePlace,
  table: StoredTable,
): Promise<RowsChange> {
  const columns = listColumns(table);
  const inserted = await database.count(
    `INSERT INTO ${inLake(table, place).from} (${columns}) SELECT ${columns} FROM ${inWork(table).from} ${sortRows(table)}`,
  );
  return { inserted, deleted: 0 };
}

/** How many hashes of rows one side has more often than the other; `sluice_differ` has them then. */
export async function compareRows(
  database: Database,
  place: LakePlace,
  table: StoredTable,
  filter = 'true',
): Promise<number> {
  const work = inWork(table);
  const held = inLake(table, place);
  // Equal rows of a table without a key count: one more of them is a change.
  await database.run(
    `CREATE OR REPLACE TEMP TABLE sluice_differ AS SELECT hash FROM (
       SELECT ${work.hash} AS hash, 1 AS n FROM ${work.from} WHERE ${filter}
       UNION ALL SELECT ${held.hash}, -1 FROM ${held.from} WHERE ${filter}) GROUP BY hash HAVING sum(n) <> 0`,
  );
  return database.count('SELECT count(*) FROM sluice_differ');
}

/** Makes the rows of changed parts equal to those of the work file; without parts, all rows. */
export async function changeRows(
  database: Database,
  place: LakePlace,
  table: StoredTable,
  parts: ChangedParts | undefined,
): Promise<RowsChange> {
  const work = inWork(table);
  const held = inLake(table, place);
  const filter = parts === undefined ? 'true' : describeFilter(table, parts, work);
  if ((await compareRows(database, place, table, filter)) === 0) return { inserted: 0, deleted: 0 };
  const differs = (hash: string) => `${filter} AND ${hash} IN (SELECT hash FROM sluice_differ)`;
  const columns = listColumns(table);
  const deleted = await database.count(`DELETE FROM ${held.from} WHERE ${differs(held.hash)}`);
  const inserted = await database.count(
    `INSERT INTO ${held.from} (${columns}) SELECT ${columns} FROM ${work.from} WHERE ${differs(work.hash)} ${sortRows(table)}`,
  );
  return { inserted, deleted };
}
