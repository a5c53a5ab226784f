import type { Database } from './database.ts';
import { quoteIdentifier } from './identifiers.ts';

/** Two tables with the same columns, as SQL: incoming rows, and those of a table. */
export interface Sides {
  readonly theirs: string;
  readonly ours: string;
}

/**
 * How likely another account's row would have all values of the row with its key. Columns that are equal in every row
 * prove nothing: dates and names may follow from the key in every account. For the others it is how likely two
 * rows of the table have the same values by chance, e.g. one half for a yes or no.
 *
 * @param match SQL condition for rows with the same key, of `s` and `t`
 * @returns 0 to 1; 0 if no column differs anywhere
 */
export async function measureKeyedChance(
  database: Database,
  { theirs, ours }: Sides,
  match: string,
  values: readonly string[],
): Promise<number> {
  const names = values.map(quoteIdentifier);
  if (names.length === 0) return 0;
  const differ = names.map((name) => `coalesce(bool_or(s.${name} IS DISTINCT FROM t.${name}), false)`);
  const [found] = (
    await database.query(`SELECT ${differ.join(', ')} FROM ${theirs} s JOIN ${ours} t ON ${match}`, 1)
  ).rows;
  const telling = names.filter((_, at) => found?.[at] === true);
  if (telling.length === 0) return 0;
  return toShare(
    database,
    `SELECT sum(n * (n - 1)) / nullif(sum(n) * (sum(n) - 1), 0) FROM (
       SELECT count(*)::DOUBLE AS n FROM ${ours} t SEMI JOIN ${theirs} s ON ${match} GROUP BY ${telling.map((name) => `t.${name}`).join(', ')})`,
  );
}

/**
 * The same for rows without a key: how many rows would still be in the table with the value of another row in one of
 * their columns, for the column where that is most likely. A column with a single value proves nothing.
 */
export async function measureKeylessChance(
  database: Database,
  { theirs, ours }: Sides,
  columns: readonly string[],
): Promise<number> {
  const names = columns.map(quoteIdentifier);
  const match = names.map((name) => `s.${name} IS NOT DISTINCT FROM t.${name}`).join(' AND ');
  let most = 0;
  for (const name of names) {
    const others = `coalesce(lead(${name}) OVER w, first_value(${name}) OVER w)`;
    const cells = names.map((one) => (one === name ? `${others} AS ${one}` : one));
    const share = await toShare(
      database,
      `SELECT if(count(DISTINCT ${name}) < 2, 0, (SELECT count(*) FROM (
           SELECT ${cells.join(', ')} FROM ${theirs} WINDOW w AS (ORDER BY _sluice_position)) s SEMI JOIN ${ours} t ON ${match})
           / count(*)) FROM ${theirs}`,
    );
    most = Math.max(most, share);
  }
  return most;
}

async function toShare(database: Database, sql: string): Promise<number> {
  const [row] = (await database.query(sql, 1)).rows;
  return Number(row?.[0] ?? 0);
}
