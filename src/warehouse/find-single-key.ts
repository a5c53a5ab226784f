import { areDaysEnough, type SingleKey, UUID_SHAPE } from '../schema/single-keys.ts';
import type { Database } from './database.ts';
import { tableName } from './evolve-table.ts';
import { findKey } from './find-key.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';
import { dayOf, readScope } from './live-rows.ts';
import { INCOMING } from './incoming.ts';

/** The first of some columns that is unique over incoming rows of enough days to prove it, or undefined. */
export async function findSingleKey(
  database: Database,
  proposals: readonly SingleKey[],
  cursor: string,
): Promise<readonly string[] | undefined> {
  if (proposals.length === 0) return undefined;
  const days = await database.all(
    `SELECT count(*) AS n FROM ${INCOMING} s WHERE ${dayOf('s', cursor)} IS NOT NULL GROUP BY ${dayOf('s', cursor)}`,
  );
  if (!areDaysEnough(days.map(({ n }) => Number(n)))) return undefined;
  const columns: string[] = [];
  for (const { name, isByShape } of proposals)
    if (!isByShape || (await areUuids(database, name))) columns.push(name);
  return findKey(
    database,
    columns.map((name) => [name]),
  );
}

async function areUuids(database: Database, name: string): Promise<boolean> {
  const others = `SELECT count(*) FROM ${INCOMING} WHERE NOT regexp_matches(${quoteIdentifier(name)}, ${quoteLiteral(UUID_SHAPE)})`;
  return (await database.count(others)) === 0;
}

/**
 * Whether rows older than all incoming rows share an id, with each other or with an incoming row. An API that drops
 * old rows does not return them, so the incoming rows alone cannot show it.
 */
export async function doOlderRowsRepeat(
  database: Database,
  { table, slice }: { readonly table: string; readonly slice: string },
  id: string,
  cursor: string,
): Promise<boolean> {
  const { own, live } = await readScope(database, table, slice);
  const name = quoteIdentifier(id);
  const oldest = `(SELECT min(${dayOf('s', cursor)}) FROM ${INCOMING} s)`;
  const older = `SELECT CAST(t.${name} AS VARCHAR) AS id FROM ${tableName(table)} t
    WHERE ${own} AND ${live} AND ${dayOf('t', cursor)} < ${oldest}`;
  const repeats = await database.count(`WITH older AS (${older}) SELECT
    (SELECT count(*) - count(DISTINCT id) FROM older)
    + (SELECT count(*) FROM older WHERE id IN (SELECT CAST(${name} AS VARCHAR) FROM ${INCOMING}))`);
  return repeats > 0;
}
