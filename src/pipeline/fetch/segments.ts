import type { Page, PageRecord } from '../../model/page.ts';

/**
 * A stretch of a scan still to be read. The record at `start` was read before and is asked for again:
 * its value shows whether the data moved (only a scan's first segment has nothing before it).
 */
export interface Segment {
  readonly start: number;
  /** Last position to read; undefined while nobody knows where the data ends. */
  readonly end: number | undefined;
  /** Nothing was read before it, so its page brings no joint. */
  readonly first: boolean;
  /** Times this segment was asked for without getting further. */
  readonly attempts: number;
}

/** The beginning of a scan. */
export const FIRST_SEGMENT: Segment = { start: 0, end: undefined, first: true, attempts: 0 };

/** What is still to be read after the position `start`. */
export function stretch(start: number, end: number | undefined): Segment {
  return { start, end, first: false, attempts: 0 };
}

/** The records of a page that are new: the one at its start was read before, and beyond its end others are. */
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
