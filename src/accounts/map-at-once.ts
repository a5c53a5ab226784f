/** The results of `work` for each item, in their order; at most `most` at once. Throws what `work` throws first. */
export async function mapAtOnce<T, R>(
  items: readonly T[],
  most: number,
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results = new Map<number, R>();
  const waiting = items.entries();
  const lane = async () => {
    // All lanes take from the same iterator, so that each item is taken once.
    for (const [at, item] of waiting) results.set(at, await work(item));
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, lane));
  return items.flatMap((_, at) => (results.has(at) ? [results.get(at) as R] : []));
}
