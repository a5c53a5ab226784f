import { type KeptField, matchField, readField } from './absent-records.ts';
import type { Database } from './database.ts';
import { tableName } from './evolve-table.ts';
import { quoteLiteral } from './identifiers.ts';
import { type CursorWindow, dayOf, isInWindow, readScope } from './live-rows.ts';
import { INCOMING } from './incoming.ts';
import type { QuarantineScope } from './quarantine.ts';
import { matchColumns } from './row-equality.ts';

/** Quarantined records that the source still has, and the live rows that may be older versions of them. */
export interface VersionedRows {
  readonly scope: QuarantineScope;
  readonly table: string;
  /** The key by which a record is a version of a row; without it each counts as its own record. */
  readonly key: { readonly fields: readonly KeptField[]; readonly columns: readonly string[] } | undefined;
}

/** How many records are not versions of a live row: the API counts them in addition to the rows. */
export async function countOwnRecords(database: Database, rows: VersionedRows): Promise<number> {
  const records = await countHeld(database, rows.scope);
  if (records === 0 || rows.key === undefined) return records;
  const { own, live } = await readScope(database, rows.table, rows.scope.slice);
  const versions = await database.count(
    `SELECT count(*) FROM ${selectKeys(rows.scope, rows.key.fields)} q
       SEMI JOIN (SELECT * FROM ${tableName(rows.table)} t WHERE ${own} AND ${live}) t ON ${matchKeys(rows.key.fields)}`,
  );
  return records - versions;
}

/**
 * The live rows of which only a quarantined version was returned, by day (ISO; empty for rows without one). Call after
 * the merge.
 */
export async function countVersions(
  database: Database,
  rows: VersionedRows,
  window: CursorWindow | undefined,
): Promise<ReadonlyMap<string, number>> {
  const { scope, table, key } = rows;
  if (key === undefined || (await countHeld(database, scope)) === 0) return new Map();
  const { own, live } = await readScope(database, table, scope.slice);
  const day = window === undefined ? "''" : `CAST(${dayOf('t', window.column)} AS VARCHAR)`;
  const asked = window === undefined ? 'true' : isInWindow('t', window);
  const found = await database.all(
    `SELECT ${day} AS day, count(*) AS n FROM ${tableName(table)} t
       SEMI JOIN ${selectKeys(scope, key.fields)} q ON ${matchKeys(key.fields)}
       ANTI JOIN ${INCOMING} s ON ${await matchColumns(database, INCOMING, key.columns)}
       WHERE ${own} AND ${live} AND ${asked} GROUP BY 1`,
  );
  return new Map(found.map((row) => [String(row['day']), Number(row['n'])]));
}

function countHeld(database: Database, { stream, slice }: QuarantineScope): Promise<number> {
  return database.count(
    'SELECT count(*) FROM _sluice.quarantine WHERE stream = $1 AND slice = $2 AND absent_since IS NULL',
    [stream, slice],
  );
}

function selectKeys({ stream, slice }: QuarantineScope, key: readonly KeptField[]): string {
  const fields = key.map((field, at) => `${readField(field)} AS f${at}`).join(', ');
  return `(SELECT ${fields} FROM _sluice.quarantine WHERE stream = ${quoteLiteral(stream)}
    AND slice = ${quoteLiteral(slice)} AND absent_since IS NULL)`;
}

function matchKeys(key: readonly KeptField[]): string {
  return key.map((field, at) => matchField('t', `q.f${at}`, field)).join(' AND ');
}
