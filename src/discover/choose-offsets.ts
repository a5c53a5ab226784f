/**
 * Offsets of the pages to sample after the first one: spread evenly to the last page, or all of them where
 * there are no more than that.
 */
export function chooseOffsets(total: number, pageSize: number, pages: number): readonly number[] {
  const all = Math.ceil(total / pageSize);
  if (all <= pages) return Array.from({ length: Math.max(0, all - 1) }, (_, at) => (at + 1) * pageSize);
  const last = total - pageSize;
  return Array.from({ length: pages - 1 }, (_, at) => Math.round(((at + 1) * last) / (pages - 1)));
}
