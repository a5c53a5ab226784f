import { cleanName, cleanText } from '../dictionary/comment-text.ts';
import { quoteIdentifier } from '../warehouse/identifiers.ts';
import type { Dialect, View, ViewTable } from './view.ts';

const DATED = /^(?:DATE|TIMESTAMP)/;

/**
 * The current version of each thing that a table with a history is about: its live rows, and where the key holds a date,
 * only the newest row of each rest of the key.
 */
export function planLatestView(table: ViewTable, dialect: Dialect): View | undefined {
  if (!table.hasHistory) return undefined;
  const from = dialect.locate('main', table.name);
  const live = table.columns.has('_deleted_at') ? 'WHERE _deleted_at IS NULL' : '';
  const date = findDate(table);
  const columns = [...table.columns.keys()].map(quoteIdentifier);
  const view = {
    schema: 'main',
    name: `${table.name}_latest`,
    of: table.name,
    about: `the newest rows of ${table.name}`,
  } as const;
  if (date === undefined)
    return {
      ...view,
      holds: [`Rows of ${cleanName(table.name)} that are not deleted, in their current version`],
      select: `SELECT ${columns.join(', ')} FROM ${from} ${live}`,
    };
  const { account, key } = table;
  const wanted = [...(account === undefined ? [] : [account]), ...key, '_slice'];
  const rest = [...new Set(wanted)].filter((name) => name !== date && table.columns.has(name));
  const partition = rest.length === 0 ? '' : `PARTITION BY ${rest.map(quoteIdentifier).join(', ')} `;
  // A key tells rows apart; a table whose key was only just found to repeat gives the row that came last.
  const order = [date, '_synced_at'].map((name) => `${quoteIdentifier(name)} DESC NULLS LAST`).join(', ');
  const each = rest.length === 0 ? '' : ` for each ${cleanText(rest.join(', '))}`;
  return {
    ...view,
    holds: [`The newest row of ${cleanName(table.name)} by ${cleanName(date)}${each}, without deleted ones`],
    select: `SELECT ${columns.join(', ')} FROM (SELECT ${columns.join(', ')}, row_number() OVER (${partition}ORDER BY ${order}) AS "~newest" FROM ${from} ${live}) AS "~rows" WHERE "~newest" = 1`,
  };
}

/** The column of the key that is a date: the cursor, or the only one of its type. */
function findDate({ key, cursor, columns }: ViewTable): string | undefined {
  const dated = key.filter((name) => DATED.test(columns.get(name) ?? ''));
  if (cursor !== undefined && dated.includes(cursor)) return cursor;
  return dated.length === 1 ? dated[0] : undefined;
}
