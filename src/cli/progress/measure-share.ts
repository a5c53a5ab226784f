/**
 * How much of a stream has arrived, 0 to 1: by pages, or by rows for a single page, which may arrive in
 * parts.
 */
export function measureShare(read: {
  readonly pagesDone: number;
  readonly pagesPlanned: number | undefined;
  readonly rowsDone: number;
  readonly rowsDeclared: number | undefined;
}): number {
  const { pagesDone, pagesPlanned, rowsDone, rowsDeclared = 0 } = read;
  if (pagesPlanned === undefined) return 0;
  if (pagesPlanned === 1 && rowsDeclared > 0) return rowsDone / rowsDeclared;
  return pagesDone / Math.max(1, pagesPlanned);
}
