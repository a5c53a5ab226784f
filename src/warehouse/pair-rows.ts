import type { Database } from './database.ts';

/** Rows of one table that are paired with those of another by their values. */
export interface PairedRows {
  /** The table as SQL. */
  readonly table: string;
  /** Condition for the rows `t` that count. */
  readonly where: string;
  /** The values to compare, as SQL. */
  readonly values: readonly string[];
  /** What comes first among rows with equal values. */
  readonly order: string;
}

/** Lists the pairs by rowid, as `row_id` and `other_id`; NULL where a row has no equal one. */
export const PAIRS = 'temp."~pairs"';

/** The number of rows and a checksum of their values, in any order. */
export async function sumRows(
  database: Database,
  { table, where, values }: Omit<PairedRows, 'order'>,
): Promise<unknown> {
  const [row] = await database.all(
    `SELECT count(*) || ' ' || coalesce(sum(hash(${values.join(', ')})), 0)::VARCHAR AS sum FROM ${table} t WHERE ${where}`,
  );
  return row?.['sum'];
}

/** Pairs rows with others by value: the nth of equal rows with the nth of equal others. */
export async function pairRows(database: Database, rows: PairedRows, others: PairedRows): Promise<void> {
  const names = [...rows.values.keys()].map((at) => `_sluice_value_${at}`);
  const number = ({ table, where, values, order }: PairedRows): string => {
    const partition = values.length === 0 ? '' : `PARTITION BY ${values.join(', ')}`;
    const cells = values.map((value, at) => `${value} AS _sluice_value_${at}`);
    return `SELECT ${[...cells, 't.rowid AS _sluice_row'].join(', ')},
      row_number() OVER (${partition} ORDER BY ${order}) AS _sluice_occurrence FROM ${table} t WHERE ${where}`;
  };
  const alike = [...names, '_sluice_occurrence'].map((name) => `o.${name} IS NOT DISTINCT FROM r.${name}`);
  await database.run(`CREATE OR REPLACE TEMP TABLE "~pairs" AS
    SELECT r._sluice_row AS row_id, o._sluice_row AS other_id
    FROM (${number(rows)}) r FULL JOIN (${number(others)}) o ON ${alike.join(' AND ')}`);
}

export async function dropPairs(database: Database): Promise<void> {
  await database.run(`DROP TABLE IF EXISTS ${PAIRS}`);
}
