import { formatCountOf, verbOf } from '../text/format-count.ts';
import { subtractDays } from '../model/dates.ts';
import { type Checkpoint, sliceIdOf, type Stream } from '../model/stream.ts';
import { tableName } from '../warehouse/evolve-table.ts';
import { type CursorWindow, dayOf, isInWindow, readScope } from '../warehouse/live-rows.ts';
import { INCOMING } from '../warehouse/project-stage.ts';
import { countVersions } from '../warehouse/record-versions.ts';
import type { RunContext } from '../run/run-context.ts';
import type { PreparedLoad } from '../run/scan.ts';
import type { LoadedScan } from '../run/turn.ts';
import { type AbsentDecision, type AbsentFacts, findHindrance } from './absent-rows.ts';
import { windowFrom, windowOf } from './asked-days.ts';
import { keepsGone } from './compare-counts.ts';
import { describeVersions } from './unseen-records.ts';

/** Rows of the days just read that are in the table and did not come, by their day (ISO). */
export type SuspectedRows = Readonly<Record<string, number>>;

/**
 * Finds the rows of the days that an incremental scan read in full which are in the table and did not come; after a full
 * scan those of the days that are read next. A row of which a newer version is in quarantine did come. Call after the
 * merge. Other days are not even read, so that it costs next to nothing.
 */
export async function findSuspected(
  context: RunContext,
  stream: Stream,
  { scan, load }: LoadedScan,
  next: Checkpoint,
): Promise<SuspectedRows> {
  const { database } = context;
  const window = scan.plan.mode === 'full' ? windowToCome(stream, load, next) : windowOf(scan, load);
  if (window === undefined) return {};
  const { own, live } = await readScope(database, stream.table, sliceIdOf(stream));
  const count = (alias: string, from: string) =>
    `(SELECT CAST(${dayOf(alias, window.column)} AS VARCHAR) AS day, count(*) AS n FROM ${from} AND ${isInWindow(alias, window)} GROUP BY 1)`;
  const held = count('t', `${tableName(stream.table)} t WHERE ${own} AND ${live}`);
  const rows = await database.all(`SELECT day, held.n - coalesce(came.n, 0) AS n
    FROM ${held} held LEFT JOIN ${count('i', `${INCOMING} i WHERE true`)} came USING (day)
    WHERE held.n > coalesce(came.n, 0) ORDER BY day`);
  if (rows.length === 0) return {};
  const versions = await countVersions(database, describeVersions(context, stream, load), window);
  return Object.fromEntries(
    rows
      .map(({ day, n }) => [String(day), Number(n) - (versions.get(String(day)) ?? 0)] as const)
      .filter(([, absent]) => absent > 0),
  );
}

/** The days of a full scan that the next incremental one reads, and of rows that are kept all of them: all are gone. */
function windowToCome(
  stream: Stream,
  load: PreparedLoad,
  { watermark }: Checkpoint,
): CursorWindow | undefined {
  const { oldestCursor } = load;
  if (oldestCursor === undefined || watermark === undefined) return undefined;
  const next = windowFrom(subtractDays(watermark, stream.lookbackMs), load);
  return next && (keepsGone(stream) ? { ...next, date: oldestCursor } : next);
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
