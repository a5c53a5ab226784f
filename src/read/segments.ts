import type { Page, PageRecord } from '../model/page.ts';

/**
 * A part of a scan that is still to be read. The record at `start` was already read and is requested again: its value
 * shows whether the data moved (only the first segment has nothing before it).
 */
export interface Segment {
  readonly start: number;
  /** Last position to read; undefined while the end of the data is not known. */
  readonly end: number | undefined;
  /** Nothing was read before it, so its page has no joint. */
  readonly first: boolean;
  /** How many times this segment was requested without progress. */
  readonly attempts: number;
}

/** The beginning of a scan. */
export const FIRST_SEGMENT: Segment = { start: 0, end: undefined, first: true, attempts: 0 };

/** The segment after the position `start`. */
export function stretch(start: number, end: number | undefined): Segment {
  return { start, end, first: false, attempts: 0 };
}

/** The new records of a page: without the one at its start, which was already read, and those beyond its end. */
export function keepNew(
  segment: Segment,
  page: Page,
): { readonly firstPosition: number; readonly kept: readonly PageRecord[] } {
  const skip = segment.first ? 0 : 1;
  const end = segment.end ?? Infinity;
  return {
    firstPosition: segment.start + skip,
    kept: page.records.slice(skip, Math.max(skip, end - segment.start + 1)),
  };
}
