import type { CountedRows, Stream } from '../model/stream.ts';

/** A table, and what explains that the API counts other rows. */
export interface CountFacts {
  /** Live rows of the table, or of the slice. */
  readonly inTable: number;
  /** Of these, rows of the days just read that were not returned. */
  readonly suspected: number;
  /** Quarantined records that the source still has. */
  readonly quarantined: number;
  /** What was counted last; undefined where the last full scan counted nothing. */
  readonly before: CountedRows | undefined;
}

/** What a count showed: the rows that explain it from then on, and those that nothing explains. */
export type SettledCount = Pick<CountedRows, 'kept' | 'mayReturn' | 'unloaded' | 'difference'>;

/**
 * Compares the API's count with the table. The difference is the number of rows that the API has and the table lacks;
 * negative: rows of the table that the API does not have; 0 where both agree. Suspected rows count as gone: where the
 * API has them still, the count shows as many more.
 *
 * What was possible until now is known afterwards: `kept` and `unloaded` change so that a later count has to explain
 * each further change by itself.
 */
export function compareCounts(
  facts: CountFacts & { readonly inApi: number },
  isBeyondGuard: (difference: number) => boolean,
): SettledCount {
  const { inApi, inTable, suspected, quarantined, before } = facts;
  const { least, most } = boundCount(facts);
  const known = before?.difference ?? 0;
  const expected = Math.max(least, Math.min(most, inApi - known));
  const unloaded = before === undefined ? quarantined : before.unloaded + quarantined - before.quarantined;
  const kept = inTable - suspected + unloaded - expected;
  // Nothing is known of before: what is not in quarantine had the key of another row.
  const explained = { unloaded: unloaded + Math.max(0, -kept), kept: Math.max(0, kept) };
  const settled = addChange(explained, known, inApi - known - expected, isBeyondGuard);
  const mayReturn = countReturnable(facts, most - expected, expected - least);
  return { ...settled, mayReturn: Math.min(settled.kept, mayReturn) };
}

/**
 * Adds what a count changed to the known difference. Rows that leave do not make up for missing ones, nor the other way
 * round: both are counted at different times, so they are different rows.
 */
function addChange(
  { kept, unloaded }: Pick<SettledCount, 'kept' | 'unloaded'>,
  known: number,
  change: number,
  isBeyondGuard: (difference: number) => boolean,
): Omit<SettledCount, 'mayReturn'> {
  const difference = known + change;
  if (known * change >= 0 || isBeyondGuard(difference)) return { kept, unloaded, difference };
  return known > 0
    ? { kept: kept - change, unloaded, difference: known }
    : { kept: kept - known, unloaded, difference: change };
}

/**
 * The kept rows whose newer version may be in quarantine, after a count: each new record there that the API does not
 * count in addition to the rows may be one, and each row that came back is none any more.
 */
function countReturnable({ quarantined, before }: CountFacts, belowMost: number, aboveLeast: number): number {
  if (before === undefined) return quarantined;
  const { mayReturn = 0 } = before;
  const more = quarantined - before.quarantined;
  return Math.min(quarantined, more >= 0 ? mayReturn + belowMost : mayReturn - aboveLeast);
}

/**
 * The minimum and maximum count of the API for which nothing has changed elsewhere. A new record in quarantine may be the
 * newer version of a row or a row of its own. One that is no longer there is not left out of the table any more; it may
 * have been the newer version of a kept row, which then is one of the API's again. A row that was kept for another reason
 * does not come back with it.
 */
export function boundCount({ inTable, suspected, quarantined, before }: CountFacts): {
  readonly least: number;
  readonly most: number;
} {
  // It is not known what was kept or left out: only rows that cannot be in the table are certainly missing.
  if (before === undefined) return { least: -Infinity, most: inTable + quarantined };
  const { kept, mayReturn = 0, unloaded } = before;
  const held = inTable - kept - suspected + unloaded;
  const more = quarantined - before.quarantined;
  return more >= 0
    ? { least: held, most: held + more }
    : { least: held + more, most: held + more + Math.min(-more, mayReturn) };
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
