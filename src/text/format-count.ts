/** `1234567` as `1,234,567`; a dash for a count nobody knows. Independent of the machine's locale. */
export function formatCount(count: number | undefined): string {
  return count === undefined ? '-' : String(count).replaceAll(/\B(?=(\d{3})+$)/g, ',');
}

/** A count with its noun: `1 request`, `2,000 requests`. */
export function formatCountOf(count: number, noun: string, plural = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : plural}`;
}

/** The verb that goes with a count: `1 record is`, `2 records are`. */
export function verbOf(count: number, one: string, many: string): string {
  return count === 1 ? one : many;
}

/** How many streams: those with slices count by their slices, as `2 slices` or `3 streams and slices`. */
export function countScans(scans: readonly { readonly slice: string }[]): string {
  const sliced = scans.filter(({ slice }) => slice !== '').length;
  if (sliced === 0) return formatCountOf(scans.length, 'stream');
  return sliced === scans.length
    ? formatCountOf(sliced, 'slice')
    : `${formatCount(scans.length)} streams and slices`;
}
