import { formatCount, formatCountOf } from '../text/format-count.ts';
import type { Verdict } from '../model/run-report.ts';
import type { DriftCause } from '../run/scan.ts';

/** What is known about a scan after its last page. */
export interface ScanFacts {
  /** Every announced position has been read. */
  readonly complete: boolean;
  /** Mismatched joints, a changed total, more or fewer rows than declared. */
  readonly problems: readonly string[];
  /** Whether one of them shows that the data moved, rather than a contradiction of the source. */
  readonly moved?: boolean;
  readonly total: number | undefined;
  readonly rows: number;
  /** Whether the head page, asked for again at the end, was the same; undefined if there was only one page. */
  readonly headUnchanged: boolean | undefined;
  /** A user's limit ended the scan early. */
  readonly limited: boolean;
  /** Why the order of several pages proves nothing about the rows between them. */
  readonly doubt?: string | undefined;
  /** The time between its pages, if the source may have been refreshed in between. */
  readonly apart?: string | undefined;
}

/**
 * The verdict, as docs/delivery.md defines it: `verified` excludes any net shift at a joint, and a changed head.
 * A restatement in place between the joints cannot be seen in one scan; that is what the lookback is for.
 */
export function decideVerdict(facts: ScanFacts): {
  readonly verdict: Verdict;
  readonly reasons: readonly string[];
  /** Only for a `drifted` scan. */
  readonly cause?: DriftCause;
} {
  const reasons = [...facts.problems];
  const moved = (facts.moved ?? reasons.length > 0) || facts.headUnchanged === false;
  if (facts.headUnchanged === false) reasons.push('the first page changed while the others were read');
  const isCounted = facts.complete && !facts.limited && facts.total !== undefined;
  // For unchanged data the count is the best explanation; for moving data it says nothing.
  if (isCounted && facts.rows !== facts.total && !moved)
    reasons.unshift(
      `${formatCountOf(facts.rows, 'record')} returned of ${formatCount(facts.total)} declared`,
    );
  if (reasons.length > 0) return { verdict: 'drifted', reasons, cause: moved ? 'moved' : 'contradiction' };
  if (!facts.complete || facts.limited)
    return { verdict: 'partial', reasons: facts.limited ? ['ended by --limit'] : [] };
  const doubts = [
    ...(facts.apart === undefined
      ? []
      : [`its pages were read ${facts.apart}: the data may have been refreshed in between`]),
    ...(facts.doubt === undefined ? [] : [facts.doubt]),
    ...(facts.total === undefined ? ['the API declared no total'] : []),
  ];
  return { verdict: doubts.length === 0 ? 'verified' : 'unverified', reasons: doubts };
}
