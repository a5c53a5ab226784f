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
  const rules = patterns.map((pattern) => ({ pattern, rule: toRule(pattern) }));
  const unknown = rules.find(({ rule }) => !names.some((name) => rule.test(name)));
  if (unknown !== undefined) throw unknownAccount(unknown.pattern, names);
  return names.filter((name) => rules.some(({ rule }) => rule.test(name)));
}

/** The error for a name that none of the accounts has. */
export function unknownAccount(name: string, names: readonly string[]): ConfigError {
  return new ConfigError(`no account is called ${JSON.stringify(name)}${suggestName(name, names)}`, {
    code: 'usage_invalid',
    hint: `The config has ${listNames(names)}.`,
  });
}

function toRule(pattern: string): RegExp {
  const text = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${text}$`);
}
