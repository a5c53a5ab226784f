import type { Database } from './database.ts';
import { tableName } from './evolve-table.ts';
import { quoteIdentifier } from './identifiers.ts';
import { INCOMING } from './project-stage.ts';

/** How incoming rows meet those of the table. */
export interface MergeRequest {
  readonly table: string;
  /** Stored columns, without ours. */
  readonly columns: readonly string[];
  /** Columns that tell rows apart; undefined: rows are equal when all their columns are. */
  readonly key: readonly string[] | undefined;
  /** Rows of the table that did not come: kept, or removed from the whole table or a window of it. */
  readonly absent:
    'keep' | 'remove-all' | { readonly removeFrom: { readonly column: string; readonly date: string } };
  /** Never change a row that is there (`write: append`). */
  readonly insertOnly: boolean;
  readonly runId: string;
  readonly syncedAt: string;
}

export interface MergeCounts {
  readonly inserted: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly deleted: number;
}

const DELTA = 'temp.delta';

/**
 * Writes the incoming rows into the table: new ones are inserted, changed ones replaced, and unchanged
 * ones not touched, so that `_run_id` and `_synced_at` name the run that last changed a row. The incoming
 * rows must hold each key once. Call inside the transaction that saves the checkpoint (invariant 1).
 *
 * Delete and insert, since there are no keys or indexes on tables (measured: a primary key makes a small
 * upsert into 10M rows fifty times slower).
 */
export async function mergeRows(database: Database, request: MergeRequest): Promise<MergeCounts> {
  const { key, absent } = request;
  const table = tableName(request.table);
  const ours =
    key === undefined
      ? withOccurrence(table, request.columns, 'rowid AS _sluice_row')
      : `(SELECT *, rowid AS _sluice_row FROM ${table})`;
  const theirs = key === undefined ? withOccurrence(INCOMING, request.columns, '_sluice_position') : INCOMING;
  const match = (key ?? [...request.columns, '_sluice_occurrence']).map((name) =>
    equal(`s.${quoteIdentifier(name)}`, `t.${quoteIdentifier(name)}`),
  );
  const values = key === undefined ? [] : request.columns.filter((name) => !key.includes(name));
  const differs =
    values
      .map((name) => `s.${quoteIdentifier(name)} IS DISTINCT FROM t.${quoteIdentifier(name)}`)
      .join(' OR ') || 'false';

  await database.run(`CREATE OR REPLACE TEMP TABLE delta AS
    SELECT s._sluice_position, t._sluice_row, CASE WHEN t._sluice_row IS NULL THEN 'new' WHEN ${differs} THEN 'changed' ELSE 'same' END AS change
    FROM ${theirs} s LEFT JOIN ${ours} t ON ${match.join(' AND ')}`);
  const counts = await countChanges(database);
  const deleted = absent === 'keep' ? 0 : await deleteAbsent(database, table, absent);
  const written = request.insertOnly ? `change = 'new'` : `change <> 'same'`;
  if (!request.insertOnly && counts.changed > 0) {
    await database.run(
      `DELETE FROM ${table} WHERE rowid IN (SELECT _sluice_row FROM ${DELTA} WHERE change = 'changed')`,
    );
  }
  if (counts.fresh > 0 || (!request.insertOnly && counts.changed > 0))
    await insertRows(database, request, written);
  await database.run(`DROP TABLE ${DELTA}`);
  return {
    inserted: counts.fresh,
    updated: request.insertOnly ? 0 : counts.changed,
    unchanged: counts.same + (request.insertOnly ? counts.changed : 0),
    deleted,
  };
}

async function countChanges(database: Database): Promise<{ fresh: number; changed: number; same: number }> {
  const rows = await database.all(`SELECT change, count(*) AS n FROM ${DELTA} GROUP BY change`);
  const counts = new Map(rows.map((row) => [String(row['change']), Number(row['n'])]));
  return {
    fresh: counts.get('new') ?? 0,
    changed: counts.get('changed') ?? 0,
    same: counts.get('same') ?? 0,
  };
}

async function deleteAbsent(
  database: Database,
  table: string,
  absent: Exclude<MergeRequest['absent'], 'keep'>,
): Promise<number> {
  const window = absent === 'remove-all' ? 'true' : `${dateOf(absent.removeFrom.column)} >= $1::DATE`;
  const where = `${window} AND rowid NOT IN (SELECT _sluice_row FROM ${DELTA} WHERE _sluice_row IS NOT NULL)`;
  const values = absent === 'remove-all' ? undefined : [absent.removeFrom.date];
  const count = await database.count(`SELECT count(*) FROM ${table} WHERE ${where}`, values);
  if (count > 0) await database.run(`DELETE FROM ${table} WHERE ${where}`, values);
  return count;
}

// A configured cursor may be text that only mostly holds dates.
function dateOf(column: string): string {
  return `TRY_CAST(left(CAST(${quoteIdentifier(column)} AS VARCHAR), 10) AS DATE)`;
}

async function insertRows(database: Database, request: MergeRequest, written: string): Promise<void> {
  const columns = request.columns.map(quoteIdentifier);
  await database.run(
    `INSERT INTO ${tableName(request.table)} BY NAME
       SELECT ${[...columns, '$1 AS _run_id', '$2::TIMESTAMPTZ AS _synced_at'].join(', ')}
       FROM ${INCOMING} WHERE _sluice_position IN (SELECT _sluice_position FROM ${DELTA} WHERE ${written})`,
    [request.runId, request.syncedAt],
  );
}

// Equal rows may come several times: the nth of them matches the nth in the table.
function withOccurrence(table: string, columns: readonly string[], extra: string): string {
  const names = columns.map(quoteIdentifier);
  const partition = names.length === 0 ? '' : `PARTITION BY ${names.join(', ')}`;
  return `(SELECT ${[...names, extra].join(', ')}, row_number() OVER (${partition}) AS _sluice_occurrence FROM ${table})`;
}

function equal(left: string, right: string): string {
  return `${left} IS NOT DISTINCT FROM ${right}`;
}
