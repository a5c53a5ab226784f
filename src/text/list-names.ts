const MOST_NAMES = 5;

/** The first few of many names: `a, b, c, d, e and 12 more`. */
export function listNames(names: readonly string[], most = MOST_NAMES): string {
  const more = names.length - most;
  return names.slice(0, most).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
