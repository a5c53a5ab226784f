import { dirname } from 'node:path';
import type { Stream } from '../model/stream.ts';
import type { RecordPlace } from '../warehouse/project-stage.ts';
import { readStage, type StagedPageEntry } from '../stage/stage-store.ts';
import { BESIDES } from '../stage/scan-stage.ts';

/** Finds the page of a record, and its place there, by its position. */
export type LocateRecord = (position: number) => RecordPlace;

/** Reads the pages of a scan; a record of an unknown page counts as its own page. */
export async function locateRecords({ paginated }: Stream, recordsFile: string): Promise<LocateRecord> {
  // An unpaginated response has only one offset.
  if (!paginated) return (position) => ({ pageOffset: 0, rowIndex: position });
  const pages = (await readStage(dirname(recordsFile)))?.pages ?? [];
  return buildLocate(pages);
}

/** Positions of the first records of a scan's pages; empty for pages that are no longer staged. */
export async function listPageStarts(recordsFile: string): Promise<readonly number[]> {
  const pages = (await readStage(dirname(recordsFile)))?.pages ?? [];
  return pages.filter(({ rows }) => rows > 0).map(({ firstPosition }) => firstPosition);
}

/** Finds records in pages at hand. */
export function buildLocate(
  pages: readonly Pick<StagedPageEntry, 'offset' | 'firstPosition' | 'rows'>[],
): LocateRecord {
  const ordered = pages.filter(({ rows }) => rows > 0).toSorted((a, b) => a.firstPosition - b.firstPosition);
  return (position) => {
    const page = findLast(ordered, position);
    if (page === undefined) return { pageOffset: position, rowIndex: 0 };
    // Neighbours share a record, so the first record kept of a page may not be its first one.
    const first = page.firstPosition >= BESIDES ? page.firstPosition : page.offset;
    return { pageOffset: page.offset, rowIndex: position - first };
  };
}

/** The last page that starts at or before the position, if it contains it. */
function findLast<T extends { readonly firstPosition: number; readonly rows: number }>(
  pages: readonly T[],
  position: number,
): T | undefined {
  let [low, high] = [0, pages.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((pages[middle]?.firstPosition ?? Infinity) <= position) low = middle + 1;
    else high = middle;
  }
  const page = pages[low - 1];
  return page !== undefined && position < page.firstPosition + page.rows ? page : undefined;
}
