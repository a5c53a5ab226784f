import { appendRows } from './append-rows.ts';
import type { Database } from './database.ts';
import { type Deletion, deleteRows } from './delete-rows.ts';
import { historyOf, tableName } from './evolve-table.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';
import { catchUpHistory, closeVersions, openVersions, type VersionedTable } from './keep-history.ts';
import { type CursorWindow, isInWindow, readScope, type RowScope } from './live-rows.ts';
import { FRESH, MATCHES, matchAsWhole, matchByKey, matchNothing, SPARES } from './match-rows.ts';
import { becomeTable, deleteIncoming, INCOMING } from './incoming.ts';

/**
 * What happens to rows of the table that were not read: they stay, or are deleted, in the whole table or in a
 * window.
 */
export type AbsentRows =
  'keep' | { readonly how: Deletion['how']; readonly window: CursorWindow | undefined };

/** How incoming rows are merged into the table. */
export interface MergeRequest {
  readonly table: string;
  /** Stored columns, without Sluice's own. */
  readonly columns: readonly string[];
  /** Columns that tell rows apart; if undefined, rows are equal when all their columns are. */
  readonly key: readonly string[] | undefined;
  readonly absent: AbsentRows;
  /** Never change the values of existing rows (`write: append`). */
  readonly insertOnly: boolean;
  /** The slice that was read; '' for a stream without slices. Rows of other slices are not touched. */
  readonly slice: string;
  /**
   * Columns that must match, in addition to the key, to adopt a row from before the stream was sliced; all if
   * omitted.
   */
  readonly adoptBy?: readonly string[] | undefined;
  /** Keep the versions of rows in `<table>_history`. */
  readonly history: boolean;
  readonly runId: string;
  readonly syncedAt: string;
}

export interface MergeCounts {
  readonly inserted: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly deleted: number;
  /** Rows that were already marked as deleted and are now removed. */
  readonly markedGone: number;
}

export interface TableChange extends MergeCounts {
  /** Live rows of the table or slice before the merge. */
  readonly held: number;
  /** Soft-deleted rows that were read again. */
  readonly returned: number;
  /** Deleted rows with the key of an incoming row: older versions of it. */
  readonly superseded: number;
}

/** What a merge will do. The rows are listed in temporary tables. */
export interface MergePlan {
  readonly request: MergeRequest;
  readonly scope: RowScope;
  readonly change: TableChange;
}

const GONE = 'temp."~gone"';
const WRITTEN = 'temp."~written"';
const MOVED = 'temp."~moved"';

/**
 * Merges the incoming rows into the table: new rows are inserted, changed rows replaced, and unchanged rows not
 * touched, so that `_run_id` and `_synced_at` name the run that last changed a row. Keys must be unique in the
 * incoming rows. Call inside the transaction that saves the checkpoint (invariant 1).
 */
export async function mergeRows(database: Database, request: MergeRequest): Promise<MergeCounts> {
  return applyMerge(database, await planMerge(database, request));
}

/** Finds what a merge has to write. Changes no table but the incoming rows, which lose those outside a window. */
export async function planMerge(database: Database, request: MergeRequest): Promise<MergePlan> {
  const { table, columns, key, absent } = request;
  const scope = await readScope(database, table, request.slice);
  const versioned = toVersioned(request, scope);
  if (key === undefined && absent !== 'keep' && absent.window !== undefined)
    await dropIncomingBefore(database, absent.window);
  if ((await database.count(`SELECT count(*) FROM ${tableName(table)}`)) === 0) {
    await matchNothing(database);
  } else if (key === undefined) {
    await matchAsWhole(database, versioned, scope);
  } else {
    const adoptBy = request.adoptBy ?? (request.slice === '' ? [] : columns);
    await matchByKey(database, versioned, { columns: key, adoptBy }, scope);
  }
  await listWritten(database, request.insertOnly);
  await listGone(database, request, scope);
  const held = `SELECT count(*) FROM ${tableName(table)} t WHERE ${scope.own} AND ${scope.live}`;
  const superseded = `SELECT count(*) FROM ${GONE} SEMI JOIN ${SPARES} USING (_sluice_row) WHERE live`;
  const returned = `SELECT count(*) FROM ${WRITTEN} WHERE change = 'back'`;
  const change = {
    ...(await countChanges(database)),
    held: await database.count(held),
    returned: await database.count(returned),
    superseded: await database.count(superseded),
  };
  return { request, scope, change };
}

/** The same merge, but rows that were not read stay. */
export async function keepAbsent(database: Database, plan: MergePlan): Promise<MergePlan> {
  const request = { ...plan.request, absent: 'keep' } as const;
  await listGone(database, request, plan.scope);
  const counts = await countChanges(database);
  return { ...plan, request, change: { ...plan.change, ...counts } };
}

/**
 * Writes what was planned.
 *
 * Uses delete and insert, as tables have no keys or indexes (measured: a primary key makes a small upsert into 10M
 * rows fifty times slower).
 */
export async function applyMerge(database: Database, plan: MergePlan): Promise<MergeCounts> {
  const { request, scope, change } = plan;
  const versioned = toVersioned(request, scope);
  if (request.history) await catchUpHistory(database, versioned, request.syncedAt);
  await applyChanges(database, request, scope, versioned);
  for (const view of [WRITTEN, MOVED]) await database.run(`DROP VIEW ${view}`);
  for (const temporary of [MATCHES, FRESH, SPARES, GONE]) await database.run(`DROP TABLE ${temporary}`);
  const { inserted, updated, unchanged, deleted, markedGone } = change;
  return { inserted, updated, unchanged, deleted, markedGone };
}

function toVersioned({ table, columns }: MergeRequest, { live, isSliced }: RowScope): VersionedTable {
  return { table, columns, live, isSliced };
}

// Without a key only whole days can be replaced: a row and its own older version look alike.
async function dropIncomingBefore(database: Database, window: CursorWindow): Promise<void> {
  await deleteIncoming(database, `NOT (${isInWindow('s', window)})`);
}

/**
 * Lists the positions of the rows to write, new and changed ones, and the rows that keep their values but get the slice
 * that was read. Views: as tables they would be a row for each of them.
 */
async function listWritten(database: Database, insertOnly: boolean): Promise<void> {
  const rewritten = insertOnly ? `change = 'back'` : `change <> 'same'`;
  const moved = insertOnly ? `change = 'moved'` : 'false';
  await database.run(
    `CREATE OR REPLACE TEMP VIEW "~moved" AS SELECT _sluice_row FROM ${MATCHES} WHERE ${moved}`,
  );
  await database.run(`CREATE OR REPLACE TEMP VIEW "~written" AS
    SELECT _sluice_position, NULL::BIGINT AS _sluice_row, 'new' AS change FROM ${FRESH}
    UNION ALL SELECT _sluice_position, _sluice_row, change FROM ${MATCHES} WHERE ${rewritten}`);
}

/**
 * Rowids of the rows to delete: those that were not read and may be deleted, and extra rows with the key of an
 * incoming row.
 */
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
  // With hard deletes, rows that were marked before are removed as well.
  const present = absent.how === 'hard' ? 'true' : live;
  const asked = absent.window === undefined ? 'true' : isInWindow('t', absent.window);
  await database.run(`CREATE OR REPLACE TEMP TABLE "~gone" AS ${spares} UNION ${rows}
    ANTI JOIN ${MATCHES} m ON t.rowid = m._sluice_row WHERE ${own} AND ${present} AND ${asked}`);
}

async function countChanges(database: Database): Promise<MergeCounts> {
  const written = await countBy(
    database,
    `SELECT if(_sluice_row IS NULL, 'new', 'held') AS name, count(*) AS n FROM ${WRITTEN} GROUP BY 1`,
  );
  const moved = await database.count(`SELECT count(*) FROM ${MOVED}`);
  const matched = await database.count(`SELECT count(*) FROM ${MATCHES}`);
  const gone = await countBy(
    database,
    `SELECT if(live, 'live', 'marked') AS name, count(*) AS n FROM ${GONE} GROUP BY 1`,
  );
  const updated = (written.get('held') ?? 0) + moved;
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
  await moveRows(database, request, versioned);
  if ((await database.count(`SELECT count(*) FROM ${WRITTEN}`)) === 0) return;
  // A soft-deleted row has no open version.
  const changed = `SELECT _sluice_row FROM ${WRITTEN} WHERE change IN ('changed', 'moved')`;
  if (history) await closeVersions(database, versioned, changed, syncedAt);
  const table = tableName(request.table);
  await database.run(
    `DELETE FROM ${table} WHERE rowid IN (SELECT _sluice_row FROM ${WRITTEN} WHERE change <> 'new')`,
  );
  await insertWritten(database, request, scope, { table: request.table, time: '_synced_at' });
  if (!history) return;
  await insertWritten(database, request, scope, { table: historyOf(request.table), time: '_valid_from' });
}

/** Gives rows the slice that was read, as a new version of them with the same values. */
async function moveRows(
  database: Database,
  { table, slice, history, runId, syncedAt }: MergeRequest,
  versioned: VersionedTable,
): Promise<void> {
  if ((await database.count(`SELECT count(*) FROM ${MOVED}`)) === 0) return;
  const rows = `SELECT _sluice_row FROM ${MOVED}`;
  if (history) await closeVersions(database, versioned, rows, syncedAt);
  await database.run(
    `UPDATE ${tableName(table)} SET _slice = ${nameSlice(slice)}, _run_id = $1, _synced_at = $2::TIMESTAMPTZ
     WHERE rowid IN (${rows})`,
    [runId, syncedAt],
  );
  if (history) await openVersions(database, versioned, `t.rowid IN (${rows})`);
}

function nameSlice(slice: string): string {
  return slice === '' ? 'NULL' : quoteLiteral(slice);
}

/** The table that rows are written to, and the column for the time of the run. */
interface WriteTarget {
  readonly table: string;
  readonly time: '_synced_at' | '_valid_from';
}

async function insertWritten(
  database: Database,
  request: MergeRequest,
  { isSliced }: RowScope,
  { table, time }: WriteTarget,
): Promise<void> {
  const values = [
    ...request.columns.map(quoteIdentifier),
    ...(isSliced ? [`${nameSlice(request.slice)} AS _slice`] : []),
    '$1 AS _run_id',
    `$2::TIMESTAMPTZ AS ${time}`,
  ];
  const written = await database.count(`SELECT count(*) FROM ${WRITTEN}`);
  // If every row is written, as in a first sync, looking each one up would cost more than writing it.
  const isAll = written === (await database.count(`SELECT count(*) FROM ${INCOMING}`));
  if (isAll && !request.history && (await becomeTable(database, table, request))) return;
  const picked = isAll ? 'true' : `_sluice_position IN (SELECT _sluice_position FROM ${WRITTEN})`;
  await appendRows(
    database,
    { table, columns: values.length },
    `SELECT ${values.join(', ')} FROM ${INCOMING} WHERE ${picked}`,
    [request.runId, request.syncedAt],
  );
}
