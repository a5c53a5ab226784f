import { sliceIdOf, type Checkpoint, type Stream } from '../../model/stream.ts';
import { formatCountOf } from '../../model/format-count.ts';
import type { CandidateColumn } from '../../schema/key-candidates.ts';
import { proposeSingleKeys } from '../../schema/single-keys.ts';
import type { Database } from '../../warehouse/database.ts';
import { tableExists, tableName } from '../../warehouse/evolve-table.ts';
import { countDuplicates } from '../../warehouse/find-key.ts';
import { doOlderRowsRepeat, findSingleKey } from '../../warehouse/find-single-key.ts';
import { isInWindow, readScope } from '../../warehouse/live-rows.ts';
import { INCOMING } from '../../warehouse/project-stage.ts';
import { matchColumns } from '../../warehouse/row-equality.ts';
import { ReadInFull } from '../read-in-full.ts';
import type { RunContext } from '../run-context.ts';
import type { FetchedScan, PreparedLoad } from '../scan.ts';
import { windowOf } from './asked-days.ts';

// A row whose date changes has to be found again: by a key with the date in it, its old copy would stay beside it.

/** A column that tells the rows of a full scan apart over days enough, so that the date need not be in the key. */
export async function findKeyWithoutDate(
  database: Database,
  candidates: readonly CandidateColumn[],
  cursor: string | undefined,
): Promise<readonly string[] | undefined> {
  if (cursor === undefined) return undefined;
  return findSingleKey(database, proposeSingleKeys(candidates, cursor), cursor);
}

/** A learned key that holds, and how its column without the date is looked for. */
export interface DatedKey {
  readonly stream: Stream;
  readonly scan: FetchedScan;
  readonly key: readonly string[];
  readonly candidates: readonly CandidateColumn[];
  readonly cursor: string | undefined;
}

/** The column of a key of id and date that has proved by now to need no date; undefined where the key stays. */
export async function shedDate(
  { database, options }: RunContext,
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
 * Whether a key is the one before without its date, and no two rows that did not come share it: then those that came are
 * found again, with all their older copies, and the others are what they were.
 */
export async function isDateShed(
  { database }: RunContext,
  stream: Stream,
  key: readonly string[],
  checkpoint: Checkpoint | undefined,
): Promise<boolean> {
  const before = checkpoint?.keyFields ?? [];
  const isPart = key.length < before.length && key.every((name) => before.includes(name));
  if (!isPart || checkpoint?.cursorField === undefined || key.includes(checkpoint.cursorField)) return false;
  const { own, live, isSliced } = await readScope(database, stream.table, sliceIdOf(stream));
  const match = await matchColumns(database, INCOMING, key);
  const absent = `(SELECT * FROM ${tableName(stream.table)} t WHERE ${own} AND ${live}
    AND NOT EXISTS (SELECT 1 FROM ${INCOMING} s WHERE ${match}))`;
  return (await countDuplicates(database, absent, isSliced ? [...key, '_slice'] : key)) === 0;
}

/**
 * Why a full refresh is due after rows of earlier days came again with a date of these days: rows that moved, or other
 * rows whose id was used before, which would be lost. The count of the whole stream tells; without one a document is read
 * in full at once.
 */
export async function findMovedRows(
  { database }: RunContext,
  stream: Stream,
  scan: FetchedScan,
  load: PreparedLoad,
): Promise<string | undefined> {
  const { key, cursorColumn, tableExisted } = load;
  const window = windowOf(scan, load);
  const isDated = cursorColumn === undefined || key?.columns.includes(cursorColumn) === true;
  if (key?.origin !== 'learned' || isDated || !tableExisted || window === undefined) return undefined;
  // What was archived before there was this question was loaded without it.
  if (scan.counted === undefined || scan.counted.rows !== null) return undefined;
  const { own, live } = await readScope(database, stream.table, sliceIdOf(stream));
  const moved = await database.count(`SELECT count(*) FROM ${INCOMING} s
    JOIN ${tableName(stream.table)} t ON ${await matchColumns(database, INCOMING, key.columns)}
    WHERE ${own} AND ${live} AND ${isInWindow('s', window)} AND NOT coalesce(${isInWindow('t', window)}, false)`);
  if (moved === 0) return undefined;
  const rows = `${formatCountOf(moved, 'row')} of earlier days came with another date`;
  if (!stream.paginated)
    throw new ReadInFull(
      `${rows}, and nobody counted whether the learned key (${key.columns.join(', ')}) repeats`,
      { isBroughtForward: true },
    );
  return `${rows}, and nobody counted whether the learned key repeats`;
}
