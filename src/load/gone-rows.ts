import { formatCountOf, verbOf } from '../text/format-count.ts';
import { subtractDays } from '../model/dates.ts';
import type { Checkpoint, Stream } from '../model/stream.ts';
import { tableName } from '../warehouse/evolve-table.ts';
import { type CursorWindow, dayOf, isInWindow, readScope } from '../warehouse/live-rows.ts';
import { INCOMING } from '../warehouse/incoming.ts';
import type { Database } from '../warehouse/database.ts';
import { countVersions, type VersionedRows } from '../warehouse/record-versions.ts';
import type { Loading } from '../run/run-context.ts';
import type { PreparedLoad } from '../run/scan.ts';
import type { LoadedScan } from '../run/turn.ts';
import { type AbsentDecision, type AbsentFacts, findHindrance } from './absent-rows.ts';
import { windowFrom, windowOf } from './asked-days.ts';
import { keepsGone } from './compare-counts.ts';
import { describeVersions } from './unseen-records.ts';

/** Rows of the days just read that are in the table but were not returned, by day (ISO). */
export type SuspectedRows = Readonly<Record<string, number>>;

/** Rows of the table that a scan should have returned and did not. */
export interface GoneRows {
  /** After a full scan, all of them. */
  readonly gone: number;
  /** Those of the days that an incremental scan read in full; after a full scan, of the days that are read next. */
  readonly suspectedOn: SuspectedRows;
}

/** The result of a merge: the next checkpoint, and how many rows of the table the scan did not bring. */
export interface MergedScan {
  readonly next: Checkpoint;
  readonly kept: number;
}

/**
 * Finds the rows of the table that a scan should have returned and did not. A row with a newer version in
 * quarantine was returned. Call after the merge. Only days in which a row can be gone are checked, so it costs almost
 * nothing.
 */
export async function findGone(
  context: Loading,
  stream: Stream,
  { scan, load }: LoadedScan,
  { next, kept }: MergedScan,
): Promise<GoneRows> {
  const versions = describeVersions(context, stream, load);
  if (kept <= 0) return { gone: 0, suspectedOn: {} };
  if (scan.plan.mode !== 'full')
    return { gone: 0, suspectedOn: await findSuspected(context.database, versions, windowOf(scan, load)) };
  const came = await countVersions(context.database, versions, undefined);
  const gone = kept - sumRows([...came.values()]);
  const window = gone === 0 ? undefined : windowToCome(stream, load, next);
  return { gone, suspectedOn: await findSuspected(context.database, versions, window) };
}

async function findSuspected(
  database: Database,
  rows: VersionedRows,
  window: CursorWindow | undefined,
): Promise<SuspectedRows> {
  if (window === undefined) return {};
  const { own, live } = await readScope(database, rows.table, rows.scope.slice);
  const count = (alias: string, from: string) =>
    `(SELECT CAST(${dayOf(alias, window.column)} AS VARCHAR) AS day, count(*) AS n FROM ${from} AND ${isInWindow(alias, window)} GROUP BY 1)`;
  const held = count('t', `${tableName(rows.table)} t WHERE ${own} AND ${live}`);
  const absent = await database.all(`SELECT day, held.n - coalesce(came.n, 0) AS n
    FROM ${held} held LEFT JOIN ${count('i', `${INCOMING} i WHERE true`)} came USING (day)
    WHERE held.n > coalesce(came.n, 0) ORDER BY day`);
  if (absent.length === 0) return {};
  const versions = await countVersions(database, rows, window);
  return Object.fromEntries(
    absent
      .map(({ day, n }) => [String(day), Number(n) - (versions.get(String(day)) ?? 0)] as const)
      .filter(([, count]) => count > 0),
  );
}

/** The days of a full scan that the next incremental one reads; all its days if gone rows are kept. */
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
  const suspected = sumRows(Object.values(suspectedOn));
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

/** Rows of several days. */
export function sumRows(rows: readonly number[]): number {
  return rows.reduce((sum, one) => sum + one, 0);
}
