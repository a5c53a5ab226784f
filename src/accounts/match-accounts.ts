import { ConfigError } from '../model/errors.ts';
import { listNames } from '../text/list-names.ts';
import { suggestName } from '../text/suggest-name.ts';

/**
 * The accounts that the patterns name, in the order of the config; all without patterns. In a pattern `*` stands for
 * any text and `?` for one character. Throws a ConfigError for a pattern that names none.
 */
export function matchAccounts(
  names: readonly string[],
  patterns: readonly string[] | undefined,
): readonly string[] {
  if (patterns === undefined) return names;
  const unknown = patterns.find((pattern) => !names.some((name) => matchesPattern(name, pattern)));
  if (unknown !== undefined) throw unknownAccount(unknown, names);
  return names.filter((name) => patterns.some((pattern) => matchesPattern(name, pattern)));
}

/** The error for a name that none of the accounts has. */
export function unknownAccount(name: string, names: readonly string[]): ConfigError {
  return new ConfigError(`no account is called ${JSON.stringify(name)}${suggestName(name, names)}`, {
    code: 'usage_invalid',
    hint: `The config has ${listNames(names)}.`,
  });
}

/**
 * Whether a name matches a pattern. Only the last `*` is tried again, so the time is at most the product of both lengths;
 * a regular expression with many `*` could take years.
 */
export function matchesPattern(name: string, pattern: string): boolean {
  let at = 0;
  let inPattern = 0;
  let star = -1;
  let afterStar = 0;
  while (at < name.length) {
    const expected = pattern[inPattern];
    if (expected === '*') {
      star = inPattern;
      afterStar = at;
      inPattern += 1;
    } else if (expected === '?' || expected === name[at]) {
      inPattern += 1;
      at += 1;
    } else if (star >= 0) {
      // The last star stands for one character more.
      afterStar += 1;
      at = afterStar;
      inPattern = star + 1;
    } else return false;
  }
  return /^\**$/.test(pattern.slice(inPattern));
}
