import type { CountedRows } from '../../model/stream.ts';

/** Both sides of a count, and what explains their difference. */
export interface CountFacts {
  /** Rows the API counts without a start date. */
  readonly inApi: number;
  /** Live rows of the table, or of the slice. */
  readonly inTable: number;
  /** Of these, rows of the days just read that were not returned. */
  readonly suspected: number;
  /** Quarantined records that the source still has. */
  readonly quarantined: number;
  /** What was counted last; undefined where the last full scan counted nothing. */
  readonly before: CountedRows | undefined;
}

/**
 * Rows the API has and the table lacks; negative: rows of the table that the API does not have; 0 where both agree.
 * Suspected rows count as gone: where the API has them still, the count shows as many more. A record in quarantine may be
 * the newer version of a row or a row of its own: both counts agree as long as one such case explains them.
 */
export function compareCounts(facts: CountFacts): number {
  const { inApi } = facts;
  const { least, most } = boundCount(facts);
  if (inApi > most) return inApi - most;
  return inApi < least ? inApi - least : 0;
}

/** The minimum and maximum count of the API for which the table is complete. */
export function boundCount(facts: Omit<CountFacts, 'inApi'>): {
  readonly least: number;
  readonly most: number;
} {
  const { inTable, suspected, quarantined, before } = facts;
  // It is not known what was kept or left out: only rows that cannot be in the table are certainly missing.
  if (before === undefined) return { least: -Infinity, most: inTable + quarantined };
  const { kept, unloaded } = before;
  const held = inTable - kept - suspected + unloaded;
  const moreHeld = quarantined - before.quarantined;
  return {
    least: held + Math.min(0, moreHeld),
    most: held + Math.max(0, moreHeld),
  };
}
