import { formatCountOf, verbOf } from '../../model/format-count.ts';
import type { SchemaChange } from '../../model/run-report.ts';
import type { CountedRows } from '../../model/stream.ts';
import type { FetchedScan } from '../scan.ts';
import { compareCounts } from './compare-counts.ts';

/** Thrown in a commit whose table does not fit to the API's count: the count is asked for again, and the commit repeated. */
export class CountsDiffer extends Error {}

/** A table after a scan was merged into it. */
export interface MergedTable {
  readonly scan: Pick<FetchedScan, 'plan' | 'verdict' | 'isApart' | 'total' | 'rows' | 'counted'>;
  /** Of the merge, ISO. */
  readonly at: string;
  /** Live rows, and those of them that the scan brought. */
  readonly rowsInTable: number;
  readonly rowsCame: number;
  /** Rows of the days just read that did not come and are still there. */
  readonly suspected: number;
  /** Records in quarantine that the source still has. */
  readonly quarantined: number;
  /** Rows that leave the API stay in the table: it may have more of them than the API, and that is no difference. */
  readonly keepsGone: boolean;
  readonly before: CountedRows | undefined;
}

/** The count from now on: a full scan begins it, an incremental one compares it with what the API says. */
export function countTable(table: MergedTable): CountedRows | undefined {
  const { scan, at, rowsInTable, rowsCame, quarantined, before } = table;
  if (scan.verdict !== 'verified' && scan.verdict !== 'unverified') return before;
  if (scan.plan.mode === 'full') {
    const { broughtForwardAt } =
      scan.plan.isBroughtForward === true ? { broughtForwardAt: at } : (before ?? {});
    const kept = Math.max(0, rowsInTable - rowsCame);
    const unloaded = scan.rows - rowsCame;
    return {
      at,
      inApi: scan.total,
      inTable: rowsInTable,
      kept,
      suspected: 0,
      unloaded,
      quarantined,
      difference: 0,
      broughtForwardAt,
    };
  }
  const inApi = scan.counted?.rows;
  if (typeof inApi !== 'number') return before;
  const difference = compareCounts({ ...table, inApi, inTable: rowsInTable });
  // Whatever explains the first count there is explains the next one as well.
  const { kept, unloaded } = before ?? {
    kept: Math.max(0, rowsInTable - inApi),
    unloaded: Math.max(0, inApi - rowsInTable - difference),
  };
  const base = before?.quarantined ?? quarantined;
  const { suspected } = table;
  const counts = {
    at,
    inApi,
    inTable: rowsInTable,
    kept,
    suspected,
    unloaded,
    quarantined: base,
    difference,
    broughtForwardAt: before?.broughtForwardAt,
  };
  if (difference >= 0 || !table.keepsGone) return counts;
  return { ...counts, kept: Math.max(0, rowsInTable + unloaded - inApi - suspected), difference: 0 };
}

/** Says that rows before the days just read left the API, where such rows are kept. */
export function describeLeftApi(
  before: CountedRows | undefined,
  after: CountedRows | undefined,
): readonly string[] {
  if (before === undefined || after === undefined) return [];
  // Those of earlier days had a note of their own while they were among the days read.
  const left = after.kept - before.kept - before.suspected;
  if (left <= 0) return [];
  const rows = formatCountOf(left, 'older row');
  return [
    `${rows} of the table ${verbOf(left, 'is', 'are')} no longer in the API's count; ${verbOf(left, 'it is', 'they are')} kept`,
  ];
}

/** What an incremental scan leaves open about a column it brought for the first time. */
export function describeNewColumns(
  scan: Pick<FetchedScan, 'plan'>,
  changes: readonly SchemaChange[],
  olderRows: number,
): string | undefined {
  const added = changes.filter(({ change }) => change === 'added').map(({ column }) => column);
  if (scan.plan.mode === 'full' || added.length === 0 || olderRows <= 0) return undefined;
  const columns = `${added.length === 1 ? 'column' : 'columns'} ${added.join(', ')}`;
  const rows = `${formatCountOf(olderRows, 'older row')} ${verbOf(olderRows, 'has', 'have')} no value yet`;
  return `new ${columns}: ${rows}`;
}

/** Why the next full refresh should not wait; undefined where it may. */
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
