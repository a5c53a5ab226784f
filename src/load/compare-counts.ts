import type { CountedRows, Stream } from '../model/stream.ts';

/** A table, and what the API has that is not in it. */
export interface CountFacts {
  /** Live rows of the table, or of the slice. */
  readonly inTable: number;
  /** Of these, rows of the days just read that were not returned. */
  readonly suspected: number;
  /** Quarantined records that the source still has and that are not versions of rows. */
  readonly quarantined: number;
  /** What was counted last; undefined if the last full scan counted nothing. */
  readonly before: CountedRows | undefined;
}

/** What a count showed: the rows that explain it from then on, and those that nothing explains. */
export type SettledCount = Pick<CountedRows, 'kept' | 'unloaded' | 'difference'>;

/**
 * Compares the API's count with the table. The difference is the number of rows in the API that are not in the table;
 * negative: rows of the table that the API does not have; 0 if both agree. Suspected rows count as gone: if the
 * API still has them, its count is higher by as many. What merely may have happened explains nothing: what is known
 * about a record counts once, and the rest is a difference, which a full scan settles.
 */
export function compareCounts(
  facts: CountFacts & { readonly inApi: number },
  isBeyondGuard: (difference: number) => boolean,
): SettledCount {
  const { inApi, quarantined, before } = facts;
  if (before === undefined) return beginComparison(facts);
  const { kept, difference: known } = before;
  const unloaded = countRepeated(before) + quarantined;
  const expected = expectCount({ ...facts, before });
  return addChange({ kept, unloaded }, known, inApi - known - expected, isBeyondGuard);
}

/** The API's count if nothing else has changed. */
export function expectCount({
  inTable,
  suspected,
  quarantined,
  before,
}: CountFacts & { readonly before: CountedRows }): number {
  return inTable - suspected - before.kept + countRepeated(before) + quarantined;
}

/** Records of the last full scan with the key of another one; negative if it did not bring some of those in quarantine. */
export function countRepeated({
  unloaded,
  quarantined,
}: Pick<CountedRows, 'unloaded' | 'quarantined'>): number {
  return unloaded - quarantined;
}

/** The first count of a table: only rows that cannot be in it are certainly missing. */
function beginComparison({
  inApi,
  inTable,
  suspected,
  quarantined,
}: CountFacts & { readonly inApi: number }): SettledCount {
  const expected = Math.min(inApi, inTable + quarantined);
  const kept = inTable - suspected + quarantined - expected;
  // Nothing is known from before: what is not in quarantine had the key of another row.
  return {
    kept: Math.max(0, kept),
    unloaded: quarantined + Math.max(0, -kept),
    difference: inApi - expected,
  };
}

/**
 * Adds to the known difference what changed it: a count, or days that are no longer read. Rows that leave do not make
 * up for missing ones, or the other way round: both are counted at different times, so they are different rows.
 */
export function addChange(
  { kept, unloaded }: Pick<SettledCount, 'kept' | 'unloaded'>,
  known: number,
  change: number,
  isBeyondGuard: (difference: number) => boolean,
): SettledCount {
  const difference = known + change;
  if (known * change >= 0 || isBeyondGuard(difference)) return { kept, unloaded, difference };
  return known > 0
    ? { kept: kept - change, unloaded, difference: known }
    : { kept: kept - known, unloaded, difference: change };
}

/** Whether rows that leave the API stay in the table. */
export function keepsGone({ deletes, write }: Pick<Stream, 'deletes' | 'write'>): boolean {
  return deletes === 'keep' || write === 'append';
}

/** Whether the count dropped so far that a full scan would be rejected for deleting too many rows. */
export function isBeyondGuard(
  stream: Pick<Stream, 'deletes' | 'write' | 'maxDeleteRatio'>,
  { difference, inTable }: Pick<CountedRows, 'difference' | 'inTable'>,
): boolean {
  return !keepsGone(stream) && -difference > stream.maxDeleteRatio * inTable;
}
