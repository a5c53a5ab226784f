import type { Database } from './database.ts';
import { readColumns } from './evolve-table.ts';
import type { Columns } from './file-shape.ts';
import { quoteIdentifier } from './identifiers.ts';

/** A table that is replaced, under the name it has meanwhile, and the one that takes its place. */
export interface ReplacedTable {
  readonly older: string;
  readonly newer: string;
}

/**
 * Condition for rows `o` of the older table that are rows `n` of the newer one, by key, or by all columns that both have.
 * Undefined if one of them lacks a column of the key.
 */
export async function matchOlder(
  database: Database,
  { older, newer }: ReplacedTable,
  key: readonly string[] | undefined,
): Promise<string | undefined> {
  const olds = await readColumns(database, older);
  const news = await readColumns(database, newer);
  if (key !== undefined && !key.every((name) => olds.has(name) && news.has(name))) return undefined;
  const columns = key ?? [...olds.keys()].filter((name) => news.has(name) && !isOurs(name));
  const cells = columns.map(
    (name) => `${castToNewer(name, news)} IS NOT DISTINCT FROM n.${quoteIdentifier(name)}`,
  );
  const isSliced = olds.has('_slice') && news.has('_slice');
  const slice = isSliced ? ['(o._slice IS NULL OR o._slice IS NOT DISTINCT FROM n._slice)'] : [];
  return [...cells, ...slice].join(' AND ') || 'true';
}

/** Condition for equal values of such rows in the columns of one type, but for some columns. */
export async function matchValues(
  database: Database,
  { older, newer }: ReplacedTable,
  apart: ReadonlySet<string>,
): Promise<string> {
  const news = await readColumns(database, newer);
  const shared = [...(await readColumns(database, older))].filter(
    ([name, type]) => news.get(name) === type && !isOurs(name) && !apart.has(name),
  );
  const cells = shared.map(
    ([name]) => `o.${quoteIdentifier(name)} IS NOT DISTINCT FROM n.${quoteIdentifier(name)}`,
  );
  return cells.join(' AND ') || 'true';
}

/** The values by which rows without a key are compared, of rows `o` and `n`: those of all columns that both have. */
export async function listValues(
  database: Database,
  { older, newer }: ReplacedTable,
): Promise<{ readonly olds: readonly string[]; readonly news: readonly string[] }> {
  const olds = await readColumns(database, older);
  const news = await readColumns(database, newer);
  const isLive = (alias: string, columns: Columns) =>
    columns.has('_deleted_at') ? `(${alias}._deleted_at IS NULL)` : 'true';
  const shared = [...olds.keys()].filter((name) => news.has(name) && (name === '_slice' || !isOurs(name)));
  return {
    olds: [...shared.map((name) => castToNewer(name, news)), isLive('o', olds)],
    news: [...shared.map((name) => `n.${quoteIdentifier(name)}`), isLive('n', news)],
  };
}

function castToNewer(name: string, news: Columns): string {
  return `TRY_CAST(o.${quoteIdentifier(name)} AS ${news.get(name) ?? ''})`;
}

/** Sluice's own columns, which no record fills. */
function isOurs(name: string): boolean {
  return ['_slice', '_run_id', '_synced_at', '_deleted_at'].includes(name);
}
