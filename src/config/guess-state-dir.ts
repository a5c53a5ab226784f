import path from 'node:path';
import { configDefaults } from '../model/config.ts';
import { interpolate } from './interpolate.ts';
import { findHome } from './ledger-dir.ts';
import type { LoadOptions } from './load-config.ts';
import { parseYaml } from './parse-yaml.ts';
import { readConfigFile } from './read-config-file.ts';
import { resolvePath } from './storage-paths.ts';

/**
 * The state folder of a config that is not valid as a whole: its `stateDir` as far as it can be read, else
 * the default. Undefined if its `stateDir` cannot be resolved. Only a guess.
 */
export function guessStateDir({
  path: file,
  env,
  platform = process.platform,
}: Pick<LoadOptions, 'path' | 'env'> & { readonly platform?: NodeJS.Platform }): string | undefined {
  const baseDir = path.dirname(path.resolve(file));
  try {
    const written = readStateDir(file, baseDir, env);
    return written && resolvePath(written, baseDir, findHome(env, platform));
  } catch {
    return undefined;
  }
}

function readStateDir(file: string, baseDir: string, env: LoadOptions['env']): string | undefined {
  const text = readText(file);
  const { value } = parseYaml(text);
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
  // If the text is not YAML, a line that names the folder still counts.
  const line = /^stateDir:[ \t]*["']?([^"'#\n]+?)["']?[ \t]*(?:#.*)?$/m.exec(text)?.[1];
  const stateDir: unknown = isMap ? Reflect.get(value, 'stateDir') : line;
  if (stateDir === undefined) return configDefaults.stateDir;
  const { value: found, problems } = interpolate(stateDir, { env, baseDir, optional: [] });
  return typeof found === 'string' && problems.length === 0 ? found : undefined;
}

function readText(file: string): string {
  try {
    return readConfigFile(path.resolve(file), file);
  } catch {
    return '';
  }
}
