/** The nearest of some names to a misspelt one, or undefined when none is near. */
export async function suggestName(typed: string, names: readonly string[]): Promise<string | undefined> {
  const kebab = toKebabCase(typed);
  if (names.includes(kebab)) return kebab;
  // Only a mistake needs it, so only a mistake pays for loading it.
  const { default: didYouMean } = await import('didyoumean2');
  const nearest = didYouMean(kebab, [...names], { threshold: 0.5 });
  if (typeof nearest === 'string') return nearest;
  const starts = names.filter((name) => kebab.length > 1 && name.startsWith(kebab));
  return starts.length === 1 ? starts[0] : undefined;
}

function toKebabCase(text: string): string {
  return text
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase();
}
