import { formatCountOf, verbOf } from '../text/format-count.ts';
import { sliceIdOf, type Stream } from '../model/stream.ts';
import { tableName } from '../warehouse/evolve-table.ts';
import { dayOf, isInWindow, readScope } from '../warehouse/live-rows.ts';
import { INCOMING } from '../warehouse/project-stage.ts';
import type { RunContext } from '../run/run-context.ts';
import type { FetchedScan, PreparedLoad } from '../run/scan.ts';
import { type AbsentDecision, type AbsentFacts, findHindrance } from './absent-rows.ts';
import { windowOf } from './asked-days.ts';

/** Rows of the days just read that are in the table and did not come, by their day (ISO). */
export type SuspectedRows = Readonly<Record<string, number>>;

/**
 * Finds the rows of the days that an incremental scan read in full which are in the table and did not come; call after
 * the merge. Days outside of it are not even read, so that it costs next to nothing.
 */
export async function findSuspected(
  { database }: RunContext,
  stream: Stream,
  scan: FetchedScan,
  load: PreparedLoad,
): Promise<SuspectedRows> {
  const window = windowOf(scan, load);
  if (window === undefined || scan.plan.mode === 'full') return {};
  const { own, live } = await readScope(database, stream.table, sliceIdOf(stream));
  const count = (alias: string, from: string) =>
    `(SELECT CAST(${dayOf(alias, window.column)} AS VARCHAR) AS day, count(*) AS n FROM ${from} AND ${isInWindow(alias, window)} GROUP BY 1)`;
  const held = count('t', `${tableName(stream.table)} t WHERE ${own} AND ${live}`);
  const rows = await database.all(`SELECT day, held.n - coalesce(came.n, 0) AS n
    FROM ${held} held LEFT JOIN ${count('i', `${INCOMING} i WHERE true`)} came USING (day)
    WHERE held.n > coalesce(came.n, 0) ORDER BY day`);
  return Object.fromEntries(rows.map(({ day, n }) => [String(day), Number(n)]));
}

/** Reports such rows if `deletes: keep` keeps them. */
export function describeGone(
  facts: AbsentFacts,
  { absent, replaces, keptBecause }: AbsentDecision,
  suspectedOn: SuspectedRows,
): readonly string[] {
  const { stream, scan, load } = facts;
  const suspected = Object.values(suspectedOn).reduce((sum, rows) => sum + rows, 0);
  const window = windowOf(scan, load);
  const isKept = absent === 'keep' && !replaces && keptBecause === undefined && stream.write === 'merge';
  if (!isKept || stream.deletes !== 'keep' || window === undefined || suspected === 0) return [];
  // What prevents a deletion also prevents this report.
  if (findHindrance(facts) !== undefined) return [];
  const rows = `${formatCountOf(suspected, 'row')} of the table from ${window.date} on`;
  return [
    `${rows} no longer ${verbOf(suspected, 'comes', 'come')} from the API; ${verbOf(suspected, 'it is', 'they are')} kept`,
  ];
}
