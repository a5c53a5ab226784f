import { formatCountOf, verbOf } from '../../model/format-count.ts';
import { sliceIdOf, type Stream } from '../../model/stream.ts';
import { tableName } from '../../warehouse/evolve-table.ts';
import { isInWindow, readScope } from '../../warehouse/live-rows.ts';
import { INCOMING } from '../../warehouse/project-stage.ts';
import type { RunContext } from '../run-context.ts';
import type { FetchedScan, PreparedLoad } from '../scan.ts';
import { type AbsentDecision, type AbsentFacts, findHindrance } from './absent-rows.ts';
import { windowOf } from './asked-days.ts';

/**
 * Rows of the days that an incremental scan read in full which are in the table and did not come; call after the merge.
 * Days outside of it are not even read, so that it costs next to nothing.
 */
export async function countSuspected(
  { database }: RunContext,
  stream: Stream,
  scan: FetchedScan,
  load: PreparedLoad,
): Promise<number> {
  const window = windowOf(scan, load);
  if (window === undefined || scan.plan.mode === 'full') return 0;
  const { own, live } = await readScope(database, stream.table, sliceIdOf(stream));
  const held = await database.count(
    `SELECT count(*) FROM ${tableName(stream.table)} t WHERE ${own} AND ${live} AND ${isInWindow('t', window)}`,
  );
  const came = await database.count(`SELECT count(*) FROM ${INCOMING} i WHERE ${isInWindow('i', window)}`);
  return Math.max(0, held - came);
}

/** Says that such rows are kept, where `deletes: keep` keeps them. */
export function describeGone(
  facts: AbsentFacts,
  { absent, replaces, keptBecause }: AbsentDecision,
  suspected: number,
): readonly string[] {
  const { stream, scan, load } = facts;
  const window = windowOf(scan, load);
  const isKept = absent === 'keep' && !replaces && keptBecause === undefined && stream.write === 'merge';
  if (!isKept || stream.deletes !== 'keep' || window === undefined || suspected === 0) return [];
  // What keeps rows from being deleted keeps them from being missed as well.
  if (findHindrance(facts) !== undefined) return [];
  const rows = `${formatCountOf(suspected, 'row')} of the table from ${window.date} on`;
  return [
    `${rows} no longer ${verbOf(suspected, 'comes', 'come')} from the API; ${verbOf(suspected, 'it is', 'they are')} kept`,
  ];
}
