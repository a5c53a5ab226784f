import { readElements, writeElements } from '../../state/elements.ts';
import type { Stream } from '../model/stream.ts';
import type { Loading } from '../run/run-context.ts';
import {
  createElementFields,
  type ElementFields,
  observeElements,
  packElementFields,
  unpackElementFields,
} from '../schema/element-fields.ts';
import type { Database } from '../warehouse/database.ts';
import { readColumns, tableName } from '../warehouse/evolve-table.ts';
import { quoteIdentifier } from '../warehouse/identifiers.ts';

/** Rows whose arrays are read at once: their texts are in memory. */
const ROWS_AT_ONCE = 20_000;

/**
 * Learns which fields the elements of arrays have, from the rows that this run wrote: the views of these elements have
 * a column for each. A column that was never looked at is read in all rows, once. Call in the transaction of the
 * commit, after its rows.
 *
 * @param all also rows of earlier runs
 */
export async function learnElements(
  { database, runId }: Pick<Loading, 'database' | 'runId'>,
  { name, table }: Pick<Stream, 'name' | 'table'>,
  all = false,
): Promise<void> {
  const before = await readElements(database, name);
  const columns = [...(await readColumns(database, table))].filter(([, type]) => type === 'JSON');
  if (columns.length === 0 && before.size === 0) return;
  const learned = new Map<string, string>();
  for (const [column] of columns) {
    const known = before.get(column);
    const fields = known === undefined ? createElementFields() : unpackElementFields([known]);
    const isNew = all || known === undefined;
    await observeColumn(database, fields, { table, column, runId: isNew ? undefined : runId });
    learned.set(column, packElementFields(fields));
  }
  const isSame =
    learned.size === before.size && [...learned].every(([column, text]) => before.get(column) === text);
  if (!isSame) await writeElements(database, name, learned, runId);
}

interface ArrayColumn {
  readonly table: string;
  readonly column: string;
  /** Only rows of this run; all if undefined. */
  readonly runId: string | undefined;
}

async function observeColumn(
  database: Database,
  fields: ElementFields,
  { table, column, runId }: ArrayColumn,
): Promise<void> {
  const text = `CAST(${quoteIdentifier(column)} AS VARCHAR)`;
  // Arrays without an object have no fields; the brace may be in a text.
  const where = `${text} LIKE '[%{%' ${runId === undefined ? '' : 'AND _run_id = $1'}`;
  const values = runId === undefined ? [] : [runId];
  const [range] = await database.all(
    `SELECT min(rowid) AS first, max(rowid) AS last, count(*) AS rows FROM ${tableName(table)} WHERE ${where}`,
    values,
  );
  const [first, last, rows] = [Number(range?.['first']), Number(range?.['last']), Number(range?.['rows'])];
  if (rows === 0) return;
  const step = Math.max(ROWS_AT_ONCE, Math.ceil(((last - first + 1) / rows) * ROWS_AT_ONCE));
  for (let from = first; from <= last; from += step) {
    const found = await database.all(
      `SELECT ${text} AS value FROM ${tableName(table)} WHERE rowid >= ${from} AND rowid < ${from + step} AND ${where}`,
      values,
    );
    for (const { value } of found) observeElements(fields, String(value));
  }
}
