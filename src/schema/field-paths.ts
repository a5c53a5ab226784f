// A path names a field by its members' names from the record's root. NUL marks what is ours in it, so a
// NUL of a field's own name is written with a point behind it.
const COMPANION_SUFFIX = '\u0000_text';

/** A field's name as a part of a path. */
export function toPathPart(field: string): string {
  return field.includes('\u0000') ? field.replaceAll('\u0000', '\u0000.') : field;
}

/** The field's name that `toPathPart` made a part of a path. */
export function toFieldName(part: string): string {
  return part.replaceAll('\u0000.', '\u0000');
}

/** Path of a column's companion, which no field can have. */
export function companionPath(path: readonly string[]): readonly string[] {
  return [...path.slice(0, -1), `${path.at(-1) ?? ''}${COMPANION_SUFFIX}`];
}

/** Path of the field whose values the companion at `path` takes, or undefined when it is not the path of a companion. */
export function companionSource(path: readonly string[]): readonly string[] | undefined {
  const last = path.at(-1);
  return last?.endsWith(COMPANION_SUFFIX) === true
    ? [...path.slice(0, -1), last.slice(0, -COMPANION_SUFFIX.length)]
    : undefined;
}
