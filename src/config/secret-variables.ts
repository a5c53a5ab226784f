import type { ConfigAccount } from './accounts.ts';
import { isMap } from './config-file.ts';
import type { ConfigPath } from './config-path.ts';
import type { PlaceholderScope } from './read-placeholder.ts';
import { isSecretPath } from './secret-paths.ts';

/**
 * The environment without the variables that hold a secret of any of these accounts, also of those that do not run or
 * cannot be used: their names are in the config as it is written.
 */
export function withoutSecretVariables(
  env: PlaceholderScope['env'],
  accounts: readonly ConfigAccount[],
): PlaceholderScope['env'] {
  // The accounts of one config share one value; a schedule also names those of the config it read before.
  const shared = new Set(accounts.map((account) => account.shared.value));
  const written = [...shared, ...accounts.map(({ own }) => own)];
  const names = new Set(written.flatMap((value) => listNames(value, [])));
  return Object.fromEntries(Object.entries(env).filter(([name]) => !names.has(name)));
}

function listNames(value: unknown, path: ConfigPath): readonly string[] {
  if (isMap(value))
    return Object.entries(value).flatMap(([key, member]) => listNames(member, [...path, key]));
  if (typeof value !== 'string' || !isSecretPath(path)) return [];
  return [...value.matchAll(/\$\{(\w+)(?=\}|:-)/g)].flatMap(([, name]) => name ?? []);
}
