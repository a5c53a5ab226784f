import { ResponseError } from '../model/errors.ts';
import { type Checkpoint, type CountedRows, nameOf, sliceIdOf, type Stream } from '../model/stream.ts';
import type { Loading } from '../run/run-context.ts';
import type { FetchedScan, PreparedLoad } from '../run/scan.ts';
import type { Instead } from '../run/step.ts';
import type { LoadedScan, PlannedScan } from '../run/turn.ts';
import { formatCountOf } from '../text/format-count.ts';
import { tableName } from '../warehouse/evolve-table.ts';
import { isInWindow, readScope } from '../warehouse/live-rows.ts';
import { type AbsentDecision, type AbsentFacts, decideAbsent } from './absent-rows.ts';
import { windowOf } from './asked-days.ts';
import { isKeyInDoubt } from './key-doubt.ts';
import { findMovedRows } from './key-without-date.ts';
import { nextCheckpoint } from './next-checkpoint.ts';
import { settleDropped } from './settle-counts.ts';

/** A scan on its way into the warehouse, with what can be decided before its transaction begins. */
export interface Commit extends AbsentFacts {
  /** As the last commit left it. */
  readonly checkpoint: Checkpoint | undefined;
  /** Its time, ISO. */
  readonly at: string;
  readonly slice: string;
  /** What happens to rows that were not read. */
  readonly decision: AbsentDecision;
  /** Why the next full refresh should not wait: rows that moved from one day to another. */
  readonly moved: string | undefined;
  /** The first day that an incremental scan read in full; undefined if days were chosen by hand. */
  readonly windowDate: string | undefined;
  /** The count of the last commit, before this one. */
  readonly before: CountedRows | undefined;
}

/**
 * Decides what can be decided before a commit's transaction. Reads only.
 *
 * @throws ResponseError `source_emptied` for an empty response to a question for which the table has rows
 */
export async function beginCommit(
  context: Loading,
  turn: PlannedScan,
  { scan, load }: LoadedScan,
): Promise<{ readonly done: Commit } | { readonly instead: Instead }> {
  const { stream, checkpoint } = turn;
  const { runId, options } = context;
  await refuseEmptiedSource(context, stream, scan, load);
  const at = new Date(context.recordClock.now()).toISOString();
  const keyInDoubt = await isKeyInDoubt(context, turn, { scan, load });
  const next = nextCheckpoint({ stream, scan, load, checkpoint, runId, options });
  const facts: AbsentFacts = { stream, scan, load, next, options, keyInDoubt };
  const moved = await findMovedRows(context, stream, scan, load);
  if (typeof moved === 'object') return { instead: moved };
  const windowDate = options.from === undefined ? windowOf(scan, load)?.date : undefined;
  const before = settleDropped(checkpoint?.counts, stream, windowDate);
  const slice = sliceIdOf(stream);
  return {
    done: { ...facts, checkpoint, at, slice, decision: decideAbsent(facts), moved, windowDate, before },
  };
}

/** An empty response for data that the table has is far more often an accident than the truth. */
async function refuseEmptiedSource(
  { database, options }: Loading,
  stream: Stream,
  scan: FetchedScan,
  load: PreparedLoad,
): Promise<void> {
  if (scan.rows > 0 || !load.tableExisted || options.allowEmpty === true) return;
  const { own, live } = await readScope(database, stream.table, sliceIdOf(stream));
  const window = windowOf(scan, load);
  const asked = window === undefined ? 'true' : isInWindow('t', window);
  const held = await database.count(
    `SELECT count(*) FROM ${tableName(stream.table)} t WHERE ${own} AND ${live} AND ${asked}`,
  );
  if (held === 0) return;
  const of = stream.slice === undefined ? '' : ' of this slice';
  const since = window === undefined ? '' : ` from ${window.date} on`;
  const rows = `${formatCountOf(held, 'row')}${of}${since}`;
  throw new ResponseError(`${nameOf(stream)}: the API returned no records, the table holds ${rows}`, {
    code: 'source_emptied',
    hint: 'The table is unchanged. If the source really is empty, run again with --allow-empty.',
    context: { stream: stream.name },
  });
}
