import didYouMean from 'didyoumean2';

/** The known name nearest to a misspelt one, if one is near enough to suggest. */
export function findNearestName(
  name: string,
  known: readonly string[],
  similarity = 0.5,
): string | undefined {
  // `burst` is far from `burstPerSecond` in letters but clearly means it.
  const start = name.length < 3 ? undefined : known.find((candidate) => candidate.startsWith(name));
  const nearest = start ?? didYouMean(name, [...known], { threshold: similarity });
  return typeof nearest === 'string' ? nearest : undefined;
}

/** `; did you mean "cursor"?`, or nothing. */
export function suggestName(name: string, known: readonly string[]): string {
  const nearest = findNearestName(name, known);
  return nearest === undefined ? '' : `; did you mean "${nearest}"?`;
}
