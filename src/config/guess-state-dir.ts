import path from 'node:path';
import { layerAccount } from './accounts.ts';
import { isMap } from './config-file.ts';
import { interpolate } from './interpolate.ts';
import { findHome } from './ledger-dir.ts';
import type { LoadOptions } from './load-config.ts';
import { parseYaml } from './parse-yaml.ts';
import { readText } from './read-text-file.ts';
import type { PlaceholderScope } from './read-placeholder.ts';
import { defaultStateDir, resolvePath } from './storage-paths.ts';

/**
 * The state folder of a config that is not valid as a whole: its `stateDir` as far as it can be read, else
 * the default. Undefined if its `stateDir` cannot be resolved. Only a guess.
 */
export function guessStateDir({
  path: file,
  env,
  account,
  platform = process.platform,
}: Pick<LoadOptions, 'path' | 'env' | 'account'> & { readonly platform?: NodeJS.Platform }):
  string | undefined {
  const baseDir = path.dirname(path.resolve(file));
  try {
    const scope = { env, baseDir, account: account?.name };
    const known = account === undefined ? readWritten(file) : { value: layerAccount(account).value.stateDir };
    const written = known && expand(known.value ?? defaultStateDir(account?.name), scope);
    return written && resolvePath(written, baseDir, findHome(env, platform));
  } catch {
    return undefined;
  }
}

/** What the config says of the folder; undefined for a config with accounts, where each has its own. */
function readWritten(file: string): { readonly value: unknown } | undefined {
  const text = readIfPossible(file);
  const { value } = parseYaml(text);
  if (isMap(value)) return value.accounts === undefined ? { value: value.stateDir } : undefined;
  // If the text is not YAML, a line that names the folder still counts.
  return { value: /^stateDir:[ \t]*["']?([^"'#\n]+?)["']?[ \t]*(?:#.*)?$/m.exec(text)?.[1] };
}

function expand(written: unknown, scope: PlaceholderScope): string | undefined {
  const { value, problems } = interpolate(written, { ...scope, optional: [] });
  return typeof value === 'string' && problems.length === 0 ? value : undefined;
}

function readIfPossible(file: string): string {
  try {
    return readText(path.resolve(file), file);
  } catch {
    return '';
  }
}
