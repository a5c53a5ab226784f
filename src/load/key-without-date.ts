import { sliceIdOf, type Checkpoint, type Stream } from '../model/stream.ts';
import { formatCountOf } from '../text/format-count.ts';
import type { CandidateColumn } from '../schema/key-candidates.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';
import { proposeSingleKeys } from '../schema/single-keys.ts';
import type { Database } from '../warehouse/database.ts';
import { tableExists, tableName } from '../warehouse/evolve-table.ts';
import { countDuplicates } from '../warehouse/find-key.ts';
import { doOlderRowsRepeat, findSingleKey } from '../warehouse/find-single-key.ts';
import { isInWindow, readScope } from '../warehouse/live-rows.ts';
import { INCOMING } from '../warehouse/incoming.ts';
import { quoteIdentifier } from '../warehouse/identifiers.ts';
import { matchColumns } from '../warehouse/row-equality.ts';
import type { Loading } from '../run/run-context.ts';
import type { FetchedScan, PreparedLoad } from '../run/scan.ts';
import { type FullRefresh, readInFull } from '../run/step.ts';
import { windowOf } from './asked-days.ts';

// A row whose date changes must still match: with the date in the key, its old copy would stay next to it.

/** A column that is unique over enough days of a full scan, so that the key does not need the date. */
export async function findKeyWithoutDate(
  database: Database,
  candidates: readonly CandidateColumn[],
  cursor: string | undefined,
): Promise<readonly string[] | undefined> {
  if (cursor === undefined) return undefined;
  return findSingleKey(database, proposeSingleKeys(candidates, cursor), cursor);
}

/** A valid learned key, and how to look for its column without the date. */
export interface DatedKey {
  readonly stream: Stream;
  readonly scan: FetchedScan;
  readonly key: readonly string[];
  readonly candidates: readonly CandidateColumn[];
  readonly cursor: string | undefined;
}

/** The id column of a key of id and date, once it is proved that no date is needed; undefined if the key stays. */
export async function shedDate(
  { database, options }: Loading,
  { stream, scan, key, candidates, cursor }: DatedKey,
): Promise<readonly string[] | undefined> {
  const isWhole = scan.plan.mode === 'full' && options.limit === undefined && scan.isApart !== true;
  const isTrusted =
    (scan.verdict === 'verified' || scan.verdict === 'unverified') && scan.cause === undefined;
  if (cursor === undefined || !key.includes(cursor) || !isWhole || !isTrusted) return undefined;
  const parts = candidates.filter(({ name }) => key.includes(name));
  const [id] = (await findKeyWithoutDate(database, parts, cursor)) ?? [];
  if (id === undefined || !(await tableExists(database, stream.table))) return undefined;
  const scope = { table: stream.table, slice: sliceIdOf(stream) };
  return (await doOlderRowsRepeat(database, scope, id, cursor)) ? undefined : [id];
}

/**
 * Whether a key is the previous one without its date, and unique over the rows that were not returned: then returned
 * rows match, with all their older copies, and the others are unchanged.
 */
export async function isDateShed(
  { database }: Loading,
  stream: Stream,
  { columns, ...load }: Pick<PreparedLoad, 'key' | 'columns'>,
  checkpoint: Checkpoint | undefined,
): Promise<boolean> {
  const key = load.key?.columns ?? [];
  const before = checkpoint?.keyFields ?? [];
  const isPart = key.length < before.length && key.every((name) => before.includes(name));
  if (!isPart || checkpoint?.cursorField === undefined || key.includes(checkpoint.cursorField)) return false;
  const { own, live, isSliced } = await readScope(database, stream.table, sliceIdOf(stream));
  const match = await matchColumns(database, INCOMING, key, heldBefore(columns));
  const absent = `(SELECT * FROM ${tableName(stream.table)} t WHERE ${own} AND ${live}
    AND NOT EXISTS (SELECT 1 FROM ${INCOMING} s WHERE ${match}))`;
  return (await countDuplicates(database, absent, isSliced ? [...key, '_slice'] : key)) === 0;
}

/** A value of the table before the scan's columns are in it, as the type that its column gets with them. */
function heldBefore(columns: readonly ColumnPlan[]): (name: string) => string {
  return (name) => {
    const { type, existingType } = columns.find((column) => column.name === name) ?? {};
    if (type !== undefined && (existingType === undefined || existingType === 'NULL')) return 'NULL';
    const held = `t.${quoteIdentifier(name)}`;
    return type === existingType ? held : `TRY_CAST(${held} AS ${type})`;
  };
}

/**
 * Why a full refresh is due after rows of earlier days were returned with new dates: they moved, or their ids were
 * reused and older rows would be lost. The total count shows which; without one, an unpaginated stream is read in
 * full at once.
 */
export async function findMovedRows(
  { database }: Loading,
  stream: Stream,
  scan: FetchedScan,
  load: PreparedLoad,
): Promise<FullRefresh | string | undefined> {
  const { key, cursorColumn, tableExisted } = load;
  const window = windowOf(scan, load);
  const isDated = cursorColumn === undefined || key?.columns.includes(cursorColumn) === true;
  if (key?.origin !== 'learned' || isDated || !tableExisted || window === undefined) return undefined;
  // Older archived scans were loaded without this check.
  if (scan.counted === undefined || scan.counted.rows !== null) return undefined;
  const { own, live } = await readScope(database, stream.table, sliceIdOf(stream));
  const match = await matchColumns(database, INCOMING, key.columns, heldBefore(load.columns));
  const moved = await database.count(`SELECT count(*) FROM ${INCOMING} s
    JOIN ${tableName(stream.table)} t ON ${match}
    WHERE ${own} AND ${live} AND ${isInWindow('s', window)} AND NOT coalesce(${isInWindow('t', window)}, false)`);
  if (moved === 0) return undefined;
  const rows = `${formatCountOf(moved, 'row')} of earlier days returned with a different date`;
  if (!stream.paginated)
    return readInFull(
      `${rows}, and without a count it is not known whether the learned key (${key.columns.join(', ')}) repeats`,
      { isBroughtForward: true },
    );
  return `${rows}, and without a count it is not known whether the learned key repeats`;
}
