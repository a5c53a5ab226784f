import { formatCountOf, verbOf } from '../text/format-count.ts';
import type { SchemaChange } from '../model/run-report.ts';
import type { CountedRows, OldestRows, Stream } from '../model/stream.ts';
import type { FetchedScan, PreparedLoad } from '../run/scan.ts';
import { addChange, compareCounts, countRepeated, isBeyondGuard, keepsGone } from './compare-counts.ts';
import { sumRows, type SuspectedRows } from './gone-rows.ts';
import { areOldestGone, type RowsSince } from './oldest-left.ts';

/** A table after a scan was merged into it. */
export interface MergedTable {
  readonly scan: Pick<FetchedScan, 'plan' | 'verdict' | 'isApart' | 'total' | 'rows' | 'counted'>;
  /** Merge time, ISO. */
  readonly at: string;
  /** Live rows. */
  readonly rowsInTable: number;
  /** Rows that a full scan did not return, unless a version of them is in quarantine. */
  readonly gone: number;
  /** The first day that an incremental scan read in full; undefined if days were chosen by hand. */
  readonly windowDate: string | undefined;
  /** Rows that were not returned and are still in the table: of the days just read, or of those to be read next. */
  readonly suspectedOn: SuspectedRows;
  /** Of a full scan: the oldest day it brought, and the rows of the table before it. */
  readonly oldest: { readonly date: string; readonly before: number } | undefined;
  /** Rows from each day on that the API's count names. */
  readonly since: readonly RowsSince[] | undefined;
  /** Quarantined records that the source still has and that are not versions of rows. */
  readonly quarantined: number;
  /** What happens to rows that leave the API. */
  readonly stream: Pick<Stream, 'deletes' | 'write' | 'maxDeleteRatio' | 'audit'>;
  /** From `settleDropped`. */
  readonly before: CountedRows | undefined;
}

/** The new count: a full scan sets it, an incremental one compares it with the API's count. */
export function countTable(table: MergedTable): CountedRows | undefined {
  const { scan, before } = table;
  if (scan.verdict !== 'verified' && scan.verdict !== 'unverified') return before;
  return scan.plan.mode === 'full' ? beginCount(table) : continueCount(table);
}

function beginCount(table: MergedTable): CountedRows {
  const { scan, at, rowsInTable, gone, suspectedOn, quarantined, before, oldest } = table;
  const suspected = sumRows(Object.values(suspectedOn));
  const kept = Math.max(0, gone - suspected);
  return {
    at,
    inApi: scan.total,
    inTable: rowsInTable,
    kept,
    suspected,
    suspectedOn,
    oldest: oldest && { date: oldest.date, left: 0, inside: Math.max(0, kept - oldest.before) },
    unloaded: scan.rows - (rowsInTable - gone),
    quarantined,
    difference: 0,
    broughtForwardAt: scan.plan.isBroughtForward === true ? at : before?.broughtForwardAt,
  };
}

function continueCount(table: MergedTable): CountedRows | undefined {
  const { scan, at, stream, rowsInTable, quarantined, windowDate, before } = table;
  const inApi = scan.counted?.rows;
  const suspectedOn = windowDate === undefined ? (before?.suspectedOn ?? {}) : table.suspectedOn;
  const suspected = sumRows(Object.values(suspectedOn));
  // Rows that were not returned stay recorded until a count is compared.
  if (typeof inApi !== 'number') {
    if (before === undefined) return undefined;
    const unloaded = countRepeated(before) + quarantined;
    const uncountedAt = stream.audit ? at : undefined;
    return { ...before, suspected, suspectedOn, unloaded, quarantined, uncountedAt };
  }
  const facts = { inTable: rowsInTable, suspected, quarantined, before };
  const compared = compareCounts({ ...facts, inApi }, (difference) =>
    isBeyondGuard(stream, { difference, inTable: rowsInTable }),
  );
  const moreKept = compared.kept - (before?.kept ?? 0);
  const counts: CountedRows = {
    at,
    inApi,
    inTable: rowsInTable,
    suspected,
    suspectedOn,
    oldest: before?.oldest && addInside(before.oldest, moreKept),
    quarantined,
    ...compared,
    broughtForwardAt: before?.broughtForwardAt,
  };
  const { difference, oldest } = counts;
  if (difference >= 0 || oldest === undefined) return counts;
  if (!keepsGone(stream) || !areOldestGone(table.since, counts)) return counts;
  const left = oldest.left - difference;
  return { ...counts, kept: counts.kept - difference, oldest: { ...oldest, left }, difference: 0 };
}

/**
 * What is known before a scan whose days begin at a date (ISO). Rows that were not returned and whose days are no
 * longer read were counted as gone, and still are if such rows are kept. If not, the table has too many rows from
 * then on.
 */
export function settleDropped(
  before: CountedRows | undefined,
  stream: Pick<Stream, 'deletes' | 'write' | 'maxDeleteRatio'>,
  windowDate: string | undefined,
): CountedRows | undefined {
  if (before === undefined || windowDate === undefined) return before;
  const { kept, oldest, inTable } = before;
  const days = Object.entries(before.suspectedOn ?? {});
  const dropped = sumRows(days.filter(([day]) => day < windowDate).map(([, rows]) => rows));
  const suspectedOn = Object.fromEntries(days.filter(([day]) => day >= windowDate));
  const suspected = before.suspected - dropped;
  const settled = keepsGone(stream)
    ? { kept: kept + dropped }
    : addChange(before, before.difference, -dropped, (difference) =>
        isBeyondGuard(stream, { difference, inTable }),
      );
  const inside = oldest && addInside(oldest, settled.kept - kept);
  return { ...before, suspected, suspectedOn, oldest: inside, ...settled };
}

function addInside(oldest: OldestRows, rows: number): OldestRows {
  return { ...oldest, inside: Math.max(0, oldest.inside + rows) };
}

/** Says that the oldest rows left the API, if such rows are kept. */
export function describeLeftApi(
  before: CountedRows | undefined,
  after: CountedRows | undefined,
): readonly string[] {
  const left = (after?.oldest?.left ?? 0) - (before?.oldest?.left ?? 0);
  if (left <= 0) return [];
  const rows = formatCountOf(left, 'older row');
  return [
    `${rows} of the table ${verbOf(left, 'is', 'are')} no longer in the API's count; ${verbOf(left, 'it is', 'they are')} kept`,
  ];
}

/** Reports new columns of an incremental scan. A companion lacks nothing: older values fit its main column. */
export function describeNewColumns(
  scan: Pick<FetchedScan, 'plan'>,
  { columns }: Pick<PreparedLoad, 'columns'>,
  changes: readonly SchemaChange[],
  olderRows: number,
): string | undefined {
  const companions = new Set(columns.filter(({ companion }) => companion).map(({ name }) => name));
  const added = changes
    .filter(({ change, column }) => change === 'added' && !companions.has(column))
    .map(({ column }) => column);
  if (scan.plan.mode === 'full' || added.length === 0 || olderRows <= 0) return undefined;
  const names = `${added.length === 1 ? 'column' : 'columns'} ${added.join(', ')}`;
  const rows = `${formatCountOf(olderRows, 'older row')} ${verbOf(olderRows, 'has', 'have')} no value yet`;
  return `new ${names}: ${rows}`;
}

/** Why the next full refresh should not wait; undefined if it can. */
export function findDueReason(
  scan: Pick<FetchedScan, 'plan' | 'verdict' | 'isApart' | 'cause'>,
  before: string | undefined,
  found: readonly (string | undefined)[],
): string | undefined {
  const isTrusted = scan.verdict === 'verified' || scan.verdict === 'unverified';
  if (scan.cause === 'too-long' || (isTrusted && scan.isApart === true && scan.plan.mode === 'full'))
    return 'its last full scan took so long that the data may have been refreshed in between';
  if (scan.plan.mode === 'full' && isTrusted) return undefined;
  return found.find((reason) => reason !== undefined) ?? before;
}
