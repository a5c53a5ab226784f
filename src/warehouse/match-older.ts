import type { Database } from './database.ts';
import { readColumns } from './evolve-table.ts';
import type { Columns } from './file-shape.ts';
import { fitColumn, type Rebuilt, type SeenTypes } from './fit-column.ts';
import { quoteIdentifier } from './identifiers.ts';

/**
 * Condition for rows `o` of the older table that are rows `n` of the newer one, by key, or by all columns that both have.
 * Undefined if one of them lacks a column of the key.
 */
export async function matchOlder(
  database: Database,
  { older, newer, seen }: Rebuilt,
  key: readonly string[] | undefined,
): Promise<string | undefined> {
  const olds = await readColumns(database, older);
  const news = await readColumns(database, newer);
  if (key !== undefined && !key.every((name) => olds.has(name) && news.has(name))) return undefined;
  const columns = key ?? [...olds.keys()].filter((name) => news.has(name) && !isOurs(name));
  const cells = columns.flatMap((name) => {
    const { value, lost } = fitToNewer(seen, { name, olds, news });
    return [`${value} IS NOT DISTINCT FROM n.${quoteIdentifier(name)}`, ...lost.map((one) => `NOT ${one}`)];
  });
  const isSliced = olds.has('_slice') && news.has('_slice');
  const slice = isSliced ? ['(o._slice IS NULL OR o._slice IS NOT DISTINCT FROM n._slice)'] : [];
  return [...cells, ...slice].join(' AND ') || 'true';
}

/** Condition for equal values of such rows in the columns of one type, but for some columns. */
export async function matchValues(
  database: Database,
  { older, newer }: Pick<Rebuilt, 'older' | 'newer'>,
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

/**
 * The values by which rows without a key are compared, of rows `o` and `n`: those of all columns that both have. A value
 * that does not fit the newer type equals none.
 */
export async function listValues(
  database: Database,
  { older, newer, seen }: Rebuilt,
): Promise<{ readonly olds: readonly string[]; readonly news: readonly string[] }> {
  const olds = await readColumns(database, older);
  const news = await readColumns(database, newer);
  const isLive = (alias: string, columns: Columns) =>
    columns.has('_deleted_at') ? `(${alias}._deleted_at IS NULL)` : 'true';
  const shared = [...olds.keys()].filter((name) => news.has(name) && (name === '_slice' || !isOurs(name)));
  const fitted = shared.map((name) => fitToNewer(seen, { name, olds, news }));
  const lost = fitted.flatMap((one) => one.lost);
  return {
    olds: [...fitted.map(({ value }) => value), ...lost, isLive('o', olds)],
    news: [
      ...shared.map((name) => `n.${quoteIdentifier(name)}`),
      ...lost.map(() => 'false'),
      isLive('n', news),
    ],
  };
}

/** A value of a row `o` in the newer type, and conditions under one of which it does not fit that type. */
function fitToNewer(
  seen: SeenTypes,
  { name, olds, news }: { readonly name: string; readonly olds: Columns; readonly news: Columns },
): { readonly value: string; readonly lost: readonly string[] } {
  const [from = '', to = ''] = [olds.get(name), news.get(name)];
  if (from === to) return { value: `o.${quoteIdentifier(name)}`, lost: [] };
  const { value, lost } = fitColumn(seen, { name, from, to, alias: 'o' });
  return { value, lost: [`(${lost})`] };
}

/** Sluice's own columns, which no record fills. */
function isOurs(name: string): boolean {
  return ['_slice', '_run_id', '_synced_at', '_deleted_at'].includes(name);
}
