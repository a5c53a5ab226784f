import type { Database } from './database.ts';
import { readColumns } from './evolve-table.ts';
import type { Columns } from './file-shape.ts';
import { fitColumn, type Rebuilt } from './fit-column.ts';
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
    const { value, lost } = fitColumn(seen, { ...typesOf(name, olds, news), alias: 'o' });
    return [`${value} IS NOT DISTINCT FROM n.${quoteIdentifier(name)}`, `NOT ${lost}`];
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
  const fitted = shared.map((name) => fitColumn(seen, { ...typesOf(name, olds, news), alias: 'o' }));
  const lost = fitted.map((one) => one.lost).filter((one) => one !== 'false');
  return {
    olds: [...fitted.map(({ value }) => value), ...lost, isLive('o', olds)],
    news: [
      ...shared.map((name) => `n.${quoteIdentifier(name)}`),
      ...lost.map(() => 'false'),
      isLive('n', news),
    ],
  };
}

/** A column that both tables have. */
function typesOf(name: string, olds: Columns, news: Columns) {
  return { name, from: olds.get(name) ?? '', to: news.get(name) ?? '' };
}

/** Sluice's own columns, which no record fills. */
function isOurs(name: string): boolean {
  return ['_slice', '_run_id', '_synced_at', '_deleted_at'].includes(name);
}
