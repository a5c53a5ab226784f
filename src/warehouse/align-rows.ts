import type { Database } from './database.ts';
import { readColumns, tableName } from './evolve-table.ts';
import type { Columns } from './file-shape.ts';
import { fitColumn, type Rebuilt } from './fit-column.ts';
import { quoteIdentifier } from './identifiers.ts';
import { dropPairs, PAIRS, pairRows, sumRows } from './pair-rows.ts';

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
  { older, newer, seen }: Rebuilt,
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
  const fitted = columns.map(([name, to]) => {
    const from = olds.get(name);
    return from === undefined ? { value: `NULL::${to}`, lost: 'false' } : fitColumn(seen, { name, from, to });
  });
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
      where: [where, ...fitted.map(({ lost }) => `NOT ${lost}`)].join(' AND '),
      values: [...fitted.map(({ value }) => value), markOf(olds)],
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
