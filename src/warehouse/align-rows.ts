import type { Database } from './database.ts';
import { readColumns, tableName } from './evolve-table.ts';
import type { Columns } from './file-shape.ts';
import { quoteIdentifier } from './identifiers.ts';
import { dropPairs, PAIRS, pairRows, sumRows } from './pair-rows.ts';

/** A rebuilt table and the one it replaces. */
export interface Rebuilt {
  readonly older: string;
  readonly newer: string;
}

/** Which rows to align, and when the others begin. */
interface Alignment {
  /** `marked`: only rows that are soft-deleted. */
  readonly rows: 'all' | 'marked';
  /** The time that live rows get which the older table does not have; if undefined, they keep theirs. */
  readonly otherwise: string | undefined;
}

const OURS = new Set(['_run_id', '_synced_at', '_deleted_at']);

/**
 * Gives the rows of a rebuilt table the run and the times of equal rows of the older one: the scan that brought a row
 * may have left the archive, and its times may have been corrected since. Call inside a transaction.
 */
export async function alignWithOlder(
  database: Database,
  { older, newer }: Rebuilt,
  { rows: which, otherwise }: Alignment,
): Promise<void> {
  const olds = await readColumns(database, older);
  const news = await readColumns(database, newer);
  const isMarkable = olds.has('_deleted_at') && news.has('_deleted_at');
  if (which === 'marked' && !isMarkable) return;
  const where = which === 'marked' ? 't._deleted_at IS NOT NULL' : 'true';
  const names = ['_run_id', '_synced_at', ...(isMarkable ? ['_deleted_at'] : [])];
  const sum = (table: string) => sumRows(database, { table: tableName(table), where, values: names });
  if (otherwise === undefined && (await sum(older)) === (await sum(newer))) return;
  const columns = [...news].filter(([name]) => !OURS.has(name));
  const order = '_synced_at, _run_id';
  await pairRows(
    database,
    {
      table: tableName(newer),
      where,
      values: [...columns.map(([name]) => quoteIdentifier(name)), markOf(news)],
      order,
    },
    {
      table: tableName(older),
      where: [where, ...columns.flatMap(([name, type]) => survives(name, olds.get(name), type))].join(
        ' AND ',
      ),
      values: [...columns.map(([name, type]) => castOf(name, olds.get(name), type)), markOf(olds)],
      order,
    },
  );
  const differs = names.map((name) => `o.${name} IS DISTINCT FROM t.${name}`).join(' OR ');
  await database.run(
    `UPDATE ${tableName(newer)} AS t SET ${names.map((name) => `${name} = o.${name}`).join(', ')}
     FROM ${PAIRS} p, ${tableName(older)} o WHERE p.row_id = t.rowid AND p.other_id = o.rowid AND (${differs})`,
  );
  if (otherwise !== undefined) {
    await database.run(
      `UPDATE ${tableName(newer)} AS t SET _synced_at = $1::TIMESTAMPTZ
       WHERE NOT ${markOf(news)} AND t.rowid IN (SELECT row_id FROM ${PAIRS} WHERE other_id IS NULL)`,
      [otherwise],
    );
  }
  await dropPairs(database);
}

/** Whether a row is soft-deleted: a marked row does not equal a live one. */
function markOf(columns: Columns): string {
  return columns.has('_deleted_at') ? '(_deleted_at IS NOT NULL)' : 'false';
}

function castOf(name: string, from: string | undefined, to: string): string {
  if (from === undefined) return `NULL::${to}`;
  return from === to ? quoteIdentifier(name) : `TRY_CAST(${quoteIdentifier(name)} AS ${to})`;
}

/** Condition for the rows whose value the newer type can hold. */
function survives(name: string, from: string | undefined, to: string): readonly string[] {
  if (from === undefined || from === to) return [];
  const column = quoteIdentifier(name);
  return [`TRY_CAST(TRY_CAST(${column} AS ${to}) AS ${from}) IS NOT DISTINCT FROM ${column}`];
}
