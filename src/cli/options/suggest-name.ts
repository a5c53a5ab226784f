/** The nearest of some names to a misspelt one, or undefined when none is near. */
export async function suggestName(typed: string, names: readonly string[]): Promise<string | undefined> {
  const kebab = toKebabCase(typed);
  if (names.includes(kebab)) return kebab;
  // Loaded only when there is a mistake.
  const { findNearestName } = await import('../../text/suggest-name.ts');
  return findNearestName(kebab, names);
}

function toKebabCase(text: string): string {
  return text
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase();
}
