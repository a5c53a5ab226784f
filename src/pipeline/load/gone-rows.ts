import { formatCountOf, verbOf } from '../../model/format-count.ts';
import { sliceIdOf } from '../../model/stream.ts';
import { tableName } from '../../warehouse/evolve-table.ts';
import { isInWindow, readScope } from '../../warehouse/live-rows.ts';
import { INCOMING } from '../../warehouse/project-stage.ts';
import type { RunContext } from '../run-context.ts';
import { type AbsentDecision, type AbsentFacts, findHindrance } from './absent-rows.ts';
import { windowOf } from './asked-days.ts';

/**
 * Says how many rows of the days that an incremental scan read in full did not come again, where `deletes: keep` keeps
 * them; call after the merge. Days outside of it are not even read, so that it costs next to nothing.
 */
export async function describeGone(
  { database }: RunContext,
  facts: AbsentFacts,
  { absent, replaces, keptBecause }: AbsentDecision,
): Promise<readonly string[]> {
  const { stream, scan, load } = facts;
  const window = windowOf(scan, load);
  const isKept = absent === 'keep' && !replaces && keptBecause === undefined && stream.write === 'merge';
  if (!isKept || stream.deletes !== 'keep' || window === undefined) return [];
  // What keeps rows from being deleted keeps them from being missed as well.
  if (findHindrance(facts) !== undefined) return [];
  const { own, live } = await readScope(database, stream.table, sliceIdOf(stream));
  const held = await database.count(
    `SELECT count(*) FROM ${tableName(stream.table)} t WHERE ${own} AND ${live} AND ${isInWindow('t', window)}`,
  );
  const came = await database.count(`SELECT count(*) FROM ${INCOMING} i WHERE ${isInWindow('i', window)}`);
  const gone = held - came;
  if (gone <= 0) return [];
  const rows = `${formatCountOf(gone, 'row')} of the table from ${window.date} on`;
  return [
    `${rows} no longer ${verbOf(gone, 'comes', 'come')} from the API; ${verbOf(gone, 'it is', 'they are')} kept`,
  ];
}
