import type { Verdict } from '../model/run-report.ts';

/** What is known of a scan when its last page is in. */
export interface ScanFacts {
  /** Every position that was announced has been read. */
  readonly complete: boolean;
  /** Signs that the data moved: joints that differ, a changed total, rows beyond it. */
  readonly problems: readonly string[];
  readonly total: number | undefined;
  readonly rows: number;
  /** Whether the head page, asked for again at the end, was the same; undefined when one page was all. */
  readonly headUnchanged: boolean | undefined;
  /** A user's limit ended the scan early. */
  readonly limited: boolean;
}

/**
 * The verdict of part 4 of the design: `verified` excludes any net shift at a joint, and a changed head.
 * A restatement in place between the joints cannot be seen in one scan; that is what the lookback is for.
 */
export function judgeScan(facts: ScanFacts): {
  readonly verdict: Verdict;
  readonly reasons: readonly string[];
} {
  const reasons = [...facts.problems];
  if (facts.headUnchanged === false) reasons.push('the first page changed while the others were read');
  if (
    facts.complete &&
    !facts.limited &&
    facts.total !== undefined &&
    facts.rows !== facts.total &&
    reasons.length === 0
  ) {
    reasons.push(`${facts.rows} records came of ${facts.total} declared`);
  }
  if (reasons.length > 0) return { verdict: 'drifted', reasons };
  if (!facts.complete || facts.limited)
    return { verdict: 'partial', reasons: facts.limited ? ['ended by --limit'] : [] };
  if (facts.total === undefined) return { verdict: 'unverified', reasons: ['the API declared no total'] };
  return { verdict: 'verified', reasons: [] };
}
