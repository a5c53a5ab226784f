/** Keys and list indexes from the config's root to one value. */
export type ConfigPath = readonly (string | number)[];

/** A path as messages show it: `streams.my_endpoint.params.entity[0]`. */
export function formatPath(path: ConfigPath): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? escapeText(part) : `${text}.${escapeText(part)}`;
  }, '');
}

/** A key that finds one path in a map or set. */
export function pathKey(path: ConfigPath): string {
  return JSON.stringify(path);
}

/** Whether `path` is `ancestor` or lies below it. */
export function isAtOrBelow(path: ConfigPath, ancestor: ConfigPath): boolean {
  return ancestor.every((part, index) => path[index] === part);
}

/** The value at a path of a parsed config, or undefined. */
export function valueAt(root: unknown, path: ConfigPath): unknown {
  return path.reduce<unknown>(
    (value, part) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, part)
        ? (value as Record<string | number, unknown>)[part]
        : undefined,
    root,
  );
}

/** Text from a file as a message may show it: control characters would reach the user's terminal. */
export function escapeText(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
