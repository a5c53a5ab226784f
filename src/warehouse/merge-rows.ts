import { appendRows } from './append-rows.ts';
import type { Database } from './database.ts';
import { type Deletion, deleteRows } from './delete-rows.ts';
import { historyOf, tableName } from './evolve-table.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';
import { catchUpHistory, closeVersions, type VersionedTable } from './keep-history.ts';
import { type CursorWindow, isInWindow, readScope, type RowScope } from './live-rows.ts';
import { FRESH, MATCHES, matchAsWhole, matchByKey, matchNothing, SPARES } from './match-rows.ts';
import { INCOMING } from './project-stage.ts';

/** What becomes of rows of the table that did not come: nothing, or they go, from all of it or from a window. */
export type AbsentRows =
  'keep' | { readonly how: Deletion['how']; readonly window: CursorWindow | undefined };

/** How incoming rows meet those of the table. */
export interface MergeRequest {
  readonly table: string;
  /** Stored columns, without ours. */
  readonly columns: readonly string[];
  /** Columns that tell rows apart; undefined: rows are equal when all their columns are. */
  readonly key: readonly string[] | undefined;
  readonly absent: AbsentRows;
  /** Never change a row that is there (`write: append`). */
  readonly insertOnly: boolean;
  /** The slice whose rows came; '' for a stream that is read as a whole. Other slices' rows are not touched. */
  readonly slice: string;
  /** What a row from before the slices must agree in, besides the key, to become this slice's; everything when left out. */
  readonly adoptBy?: readonly string[] | undefined;
  /** Keep the versions of rows in `<table>_history`. */
  readonly history: boolean;
  readonly runId: string;
  readonly syncedAt: string;
  /**
   * Looks at what the merge is about to do. `keep`: rows that did not come stay after all. Throws to have nothing of
   * it done.
   */
  readonly judge?: ((change: TableChange) => 'apply' | 'keep') | undefined;
}

export interface MergeCounts {
  readonly inserted: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly deleted: number;
  /** Rows that were marked as deleted before and are removed now. */
  readonly markedGone: number;
}

export interface TableChange extends MergeCounts {
  /** Live rows of the table, or of the slice, before. */
  readonly held: number;
  /** Rows that were deleted softly and came again. */
  readonly returned: number;
  /** Of the deleted ones, rows that have the key of a row that came: older versions of it. */
  readonly superseded: number;
}

const GONE = 'temp."~gone"';
const WRITTEN = 'temp."~written"';

/**
 * Writes the incoming rows into the table: new ones are inserted, changed ones replaced, and unchanged
 * ones not touched, so that `_run_id` and `_synced_at` name the run that last changed a row. The incoming
 * rows must hold each key once. Call inside the transaction that saves the checkpoint (invariant 1).
 *
 * Delete and insert, since there are no keys or indexes on tables (measured: a primary key makes a small
 * upsert into 10M rows fifty times slower).
 */
export async function mergeRows(database: Database, request: MergeRequest): Promise<MergeCounts> {
  const { table, columns, key, absent, syncedAt } = request;
  const scope = await readScope(database, table, request.slice);
  const versioned = { table, columns, live: scope.live, isSliced: scope.isSliced };
  if (request.history) await catchUpHistory(database, versioned, syncedAt);
  if (key === undefined && absent !== 'keep' && absent.window !== undefined)
    await dropIncomingBefore(database, absent.window);
  if ((await database.count(`SELECT count(*) FROM ${tableName(table)}`)) === 0) {
    await matchNothing(database);
  } else if (key === undefined) {
    await matchAsWhole(database, table, columns, scope);
  } else {
    const adoptBy = request.adoptBy ?? (request.slice === '' ? [] : columns);
    await matchByKey(database, table, columns, { columns: key, adoptBy }, scope);
  }
  await listWritten(database, request.insertOnly);
  await listGone(database, request, scope);

  let applied = request;
  let counts = await countChanges(database, request.insertOnly);
  if (request.judge !== undefined) {
    const held = `SELECT count(*) FROM ${tableName(table)} t WHERE ${scope.own} AND ${scope.live}`;
    const superseded = `SELECT count(*) FROM ${GONE} SEMI JOIN ${SPARES} USING (_sluice_row) WHERE live`;
    const returned = `SELECT count(*) FROM ${WRITTEN} WHERE change = 'back'`;
    const judged = request.judge({
      ...counts,
      held: await database.count(held),
      returned: await database.count(returned),
      superseded: await database.count(superseded),
    });
    if (judged === 'keep') {
      applied = { ...request, absent: 'keep' };
      await listGone(database, applied, scope);
      counts = await countChanges(database, request.insertOnly);
    }
  }
  await applyChanges(database, applied, scope, versioned);
  for (const temporary of [MATCHES, FRESH, SPARES, WRITTEN, GONE])
    await database.run(`DROP TABLE ${temporary}`);
  return counts;
}

// Without a key only whole days can be replaced: a row before them could not be told from its own older version.
async function dropIncomingBefore(database: Database, window: CursorWindow): Promise<void> {
  await database.run(`DELETE FROM ${INCOMING} s WHERE NOT (${isInWindow('s', window)})`);
}

/** Positions of the rows to write: those the table does not have, and those it has otherwise. */
async function listWritten(database: Database, insertOnly: boolean): Promise<void> {
  const rewritten = insertOnly ? `change = 'back'` : `change <> 'same'`;
  await database.run(`CREATE OR REPLACE TEMP TABLE "~written" AS
    SELECT _sluice_position, NULL::BIGINT AS _sluice_row, 'new' AS change FROM ${FRESH}
    UNION ALL SELECT _sluice_position, _sluice_row, change FROM ${MATCHES} WHERE ${rewritten}`);
}

/** Rowids of the rows to delete: those that did not come, as far as they may go, and what repeats a key that came. */
async function listGone(
  database: Database,
  { table, absent, insertOnly }: MergeRequest,
  { own, live }: RowScope,
): Promise<void> {
  const rows = `SELECT t.rowid AS _sluice_row, (${live}) AS live FROM ${tableName(table)} t`;
  const spares = `${rows} WHERE ${own} AND ${live} AND ${String(!insertOnly)} AND t.rowid IN (SELECT _sluice_row FROM ${SPARES})`;
  if (absent === 'keep') {
    await database.run(`CREATE OR REPLACE TEMP TABLE "~gone" AS ${spares}`);
    return;
  }
  // What was marked before goes as well, once rows are removed.
  const present = absent.how === 'hard' ? 'true' : live;
  const asked = absent.window === undefined ? 'true' : isInWindow('t', absent.window);
  await database.run(`CREATE OR REPLACE TEMP TABLE "~gone" AS ${spares} UNION ${rows}
    ANTI JOIN ${MATCHES} m ON t.rowid = m._sluice_row WHERE ${own} AND ${present} AND ${asked}`);
}

async function countChanges(database: Database, insertOnly: boolean): Promise<MergeCounts> {
  const written = await countBy(database, `SELECT change AS name, count(*) AS n FROM ${WRITTEN} GROUP BY 1`);
  const matched = await database.count(`SELECT count(*) FROM ${MATCHES}`);
  const gone = await countBy(
    database,
    `SELECT if(live, 'live', 'marked') AS name, count(*) AS n FROM ${GONE} GROUP BY 1`,
  );
  const updated = (written.get('back') ?? 0) + (insertOnly ? 0 : (written.get('changed') ?? 0));
  return {
    inserted: written.get('new') ?? 0,
    updated,
    unchanged: matched - updated,
    deleted: gone.get('live') ?? 0,
    markedGone: gone.get('marked') ?? 0,
  };
}

async function countBy(database: Database, sql: string): Promise<ReadonlyMap<string, number>> {
  const rows = await database.all(sql);
  return new Map(rows.map((row) => [String(row['name']), Number(row['n'])]));
}

async function applyChanges(
  database: Database,
  request: MergeRequest,
  scope: RowScope,
  versioned: VersionedTable,
): Promise<void> {
  const { absent, history, runId, syncedAt } = request;
  const how = absent === 'keep' ? 'hard' : absent.how;
  await deleteRows(database, versioned, GONE, { how, history, runId, syncedAt });
  if ((await database.count(`SELECT count(*) FROM ${WRITTEN}`)) === 0) return;
  // A row that was deleted softly has no open version.
  const changed = `SELECT _sluice_row FROM ${WRITTEN} WHERE change = 'changed'`;
  if (history) await closeVersions(database, versioned, changed, syncedAt);
  const table = tableName(request.table);
  await database.run(
    `DELETE FROM ${table} WHERE rowid IN (SELECT _sluice_row FROM ${WRITTEN} WHERE change <> 'new')`,
  );
  await insertWritten(database, request, scope, request.table, '_synced_at');
  if (history) await insertWritten(database, request, scope, historyOf(request.table), '_valid_from');
}

async function insertWritten(
  database: Database,
  request: MergeRequest,
  { isSliced }: RowScope,
  target: string,
  time: '_synced_at' | '_valid_from',
): Promise<void> {
  const slice = request.slice === '' ? 'NULL' : quoteLiteral(request.slice);
  const values = [
    ...request.columns.map(quoteIdentifier),
    ...(isSliced ? [`${slice} AS _slice`] : []),
    '$1 AS _run_id',
    `$2::TIMESTAMPTZ AS ${time}`,
  ];
  const written = await database.count(`SELECT count(*) FROM ${WRITTEN}`);
  // Where every row is written, as in a first sync, looking each one up would cost more than writing it.
  const isAll = written === (await database.count(`SELECT count(*) FROM ${INCOMING}`));
  const picked = isAll ? 'true' : `_sluice_position IN (SELECT _sluice_position FROM ${WRITTEN})`;
  await appendRows(
    database,
    { table: target, columns: values.length },
    `SELECT ${values.join(', ')} FROM ${INCOMING} WHERE ${picked}`,
    [request.runId, request.syncedAt],
  );
}
