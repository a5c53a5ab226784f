/** Member names of a JSON pointer (RFC 6901). */
export function splitPointer(pointer: string): readonly string[] {
  if (pointer === '') return [];
  const parts = pointer.slice(1).split('/');
  // Each page is read by several pointers, and hardly any name has a character that a pointer escapes.
  if (!pointer.includes('~')) return parts;
  return parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** The JSON pointer of a path of member names. */
export function joinPointer(path: readonly string[]): string {
  return path.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** What a JSON pointer leads to in a value; undefined where there is nothing. */
export function resolvePointer(value: unknown, pointer: string): unknown {
  let current = value;
  for (const name of splitPointer(pointer)) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, name)) return undefined;
    current = (current as Record<string, unknown>)[name];
  }
  return current;
}
