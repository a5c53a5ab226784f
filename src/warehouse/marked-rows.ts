import { readField } from './absent-records.ts';
import type { Database } from './database.ts';
import { readColumns, tableName } from './evolve-table.ts';
import type { Rebuilt } from './fit-column.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';
import { matchOlder } from './match-older.ts';
import type { VersionedRows } from './record-versions.ts';
import { castText } from './retype-column.ts';

/** Soft-deleted rows of an older table of which no loaded scan is known to have read one. */
export const MARKED = 'temp."~marked_rows"';

/** Copies the soft-deleted rows `o` of an older table for which a condition holds. */
export async function collectMarked(database: Database, older: string, where: string): Promise<void> {
  const isMarkable = (await readColumns(database, older)).has('_deleted_at');
  const marked = isMarkable ? `o._deleted_at IS NOT NULL AND (${where})` : 'false';
  await replaceMarked(database, `${tableName(older)} o WHERE ${marked}`);
}

/** Takes out those that the newer table has in a slice, by its key: a scan has read them. */
export async function dropRead(
  database: Database,
  tables: Rebuilt,
  { key, slice }: { readonly key: readonly string[] | undefined; readonly slice: string },
): Promise<void> {
  if (!(await hasMarked(database))) return;
  const match = await matchOlder(database, tables, key);
  if (match === undefined) return;
  const isSliced = slice !== '' && (await readColumns(database, tables.newer)).has('_slice');
  const own = isSliced ? `n._slice = ${quoteLiteral(slice)}` : 'true';
  await replaceMarked(database, `${MARKED} o ANTI JOIN ${tableName(tables.newer)} n ON ${own} AND ${match}`);
}

/** Takes out those of which the quarantine has a record. */
export async function dropQuarantined(
  database: Database,
  older: string,
  { scope, key }: VersionedRows,
): Promise<void> {
  if (key === undefined || !(await hasMarked(database))) return;
  const olds = await readColumns(database, older);
  const cells = key.fields.map((field, at) => `${readField(field)} AS f${at}`).join(', ');
  const records = `(SELECT ${cells} FROM _sluice.quarantine
    WHERE stream = ${quoteLiteral(scope.stream)} AND slice = ${quoteLiteral(scope.slice)})`;
  const match = key.fields.map(({ columns }, at) => {
    const equal = columns
      .filter(({ name }) => olds.has(name))
      .map(
        ({ name, type }) => `TRY_CAST(o.${quoteIdentifier(name)} AS ${type}) = ${castText(`q.f${at}`, type)}`,
      );
    return `(${equal.join(' OR ') || 'false'})`;
  });
  const own =
    scope.slice !== '' && olds.has('_slice')
      ? `(o._slice IS NULL OR o._slice = ${quoteLiteral(scope.slice)})`
      : 'true';
  await replaceMarked(database, `${MARKED} o ANTI JOIN ${records} q ON ${[own, ...match].join(' AND ')}`);
}

/**
 * Takes out those of runs that marked as many rows of the newer table, for a key by which the rows `o` of a condition
 * cannot be compared.
 */
export async function dropCounted(
  database: Database,
  { older, newer }: Pick<Rebuilt, 'older' | 'newer'>,
  where: string,
): Promise<void> {
  if (!(await hasMarked(database)) || !(await readColumns(database, newer)).has('_deleted_at')) return;
  const count = (table: string) =>
    `(SELECT _run_id, count(*) AS n FROM ${tableName(table)} WHERE _deleted_at IS NOT NULL GROUP BY 1)`;
  const same = `(SELECT _run_id FROM ${count(older)} a JOIN ${count(newer)} b USING (_run_id) WHERE b.n >= a.n)`;
  await replaceMarked(database, `${MARKED} o ANTI JOIN ${same} r ON r._run_id = o._run_id AND (${where})`);
}

export async function forgetMarked(database: Database): Promise<void> {
  await database.run(`DROP TABLE IF EXISTS ${MARKED}`);
}

async function hasMarked(database: Database): Promise<boolean> {
  return (await database.count(`SELECT count(*) FROM ${MARKED}`)) > 0;
}

async function replaceMarked(database: Database, from: string): Promise<void> {
  await database.run(`CREATE OR REPLACE TEMP TABLE "~marked_rows" AS SELECT o.* FROM ${from}`);
}
