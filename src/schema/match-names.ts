import { namesField } from './field-rules.ts';

// Records of maps bring new names without end.
const MOST_KNOWN = 10_000;

/** Compiles names of config into a check whether a field, by its names from the root, is one of them or lies below one. */
export function compileNames(fields: readonly string[]): (path: readonly string[]) => boolean {
  if (fields.length === 0) return () => false;
  const known = new Map<string, boolean>();
  return (path) => {
    const key = JSON.stringify(path);
    let isNamed = known.get(key);
    if (isNamed === undefined) {
      isNamed = path.some((_, at) => fields.some((field) => namesField(field, path.slice(0, at + 1))));
      if (known.size >= MOST_KNOWN) known.clear();
      known.set(key, isNamed);
    }
    return isNamed;
  };
}
