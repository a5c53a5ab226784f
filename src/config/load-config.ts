import path from 'node:path';
import type { Config, ConfigInput } from '../model/config.ts';
import { ConfigError } from '../model/errors.ts';
import type { ConfigPath } from './config-path.ts';
import { interpolate, listLeaves, type ConfigLeaf } from './interpolate.ts';
import { parseYaml, type ParsedYaml } from './parse-yaml.ts';
import { buildConfigError, type Problem, type ProblemSource } from './problem.ts';
import { readConfigFile } from './read-config-file.ts';
import { optionalPaths } from './secret-paths.ts';
import { validateConfig, withoutFollowing } from './validate-config.ts';

/** A valid config and where each of its values came from. */
export interface LoadedConfig extends ProblemSource {
  readonly config: Config;
  /** Absolute path of the file; undefined when the library was given an object. */
  readonly path: string | undefined;
  /** Absolute folder that relative paths of the config start from. */
  readonly baseDir: string;
  readonly leaves: readonly ConfigLeaf[];
}

/** Options of `loadConfig`. */
export interface LoadOptions {
  readonly path: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `optional`: an unset key is not an error, for commands that send no request. Default `required`. */
  readonly secrets?: 'required' | 'optional';
}

/** Reads, interpolates and validates a config file; throws one ConfigError that lists every problem. */
export function loadConfig(options: LoadOptions): LoadedConfig {
  const fileName = path.normalize(options.path);
  const filePath = path.resolve(options.path);
  const parsed = parseYaml(readConfigFile(filePath, fileName));
  const source = { fileName, locate: parsed.locate };
  if (parsed.problems.length > 0) throw buildConfigError(parsed.problems, source);
  assertMap(parsed.value, fileName);
  const baseDir = path.dirname(filePath);
  const interpolated = interpolate(parsed.value, {
    env: options.env,
    baseDir,
    optional: options.secrets === 'optional' ? optionalPaths : [],
  });
  const replaced = interpolated.leaves
    .filter((leaf) => leaf.placeholders.length > 0)
    .map((leaf) => leaf.path);
  const validation = validateConfig(interpolated.value, replaced);
  const problems = [
    ...interpolated.problems,
    ...findChangedNumbers(interpolated.leaves, parsed),
    ...('problems' in validation ? withoutFollowing(validation.problems, interpolated.problems) : []),
  ];
  if (problems.length > 0 || 'problems' in validation) throw buildConfigError(problems, source);
  return { ...source, config: validation.config, path: filePath, baseDir, leaves: interpolated.leaves };
}

/** Validates a config given as an object; relative paths start at `baseDir`, by default the current folder. */
export function parseConfig(input: unknown, baseDir: string = process.cwd()): LoadedConfig {
  const source = { fileName: undefined, locate: () => undefined };
  const validation = validateConfig(input, []);
  if ('problems' in validation) throw buildConfigError(validation.problems, source);
  return {
    ...source,
    config: validation.config,
    path: undefined,
    baseDir: path.resolve(baseDir),
    leaves: listLeaves(input),
  };
}

/** Types a config written in TypeScript, and returns it unchanged. */
export function defineConfig(input: ConfigInput): ConfigInput {
  parseConfig(input);
  return input;
}

function assertMap(value: unknown, fileName: string): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return;
  const what = value === null ? 'is empty' : `holds ${Array.isArray(value) ? 'a list' : 'a single value'}`;
  throw new ConfigError(`config file ${fileName} ${what}; it must be a map that starts with source:`, {
    code: 'config_invalid',
    hint: 'Run `sluice init` in an empty folder to see a complete file.',
    context: { path: fileName },
  });
}

// YAML reads 007 as 7 and 1.10 as 1.1, which would be a different query parameter.
function findChangedNumbers(leaves: readonly ConfigLeaf[], parsed: ParsedYaml): readonly Problem[] {
  return leaves.filter(isParam).flatMap(({ path: leafPath, value }) => {
    const text = parsed.numberText(leafPath);
    if (text === undefined || text === String(value)) return [];
    return [
      {
        path: leafPath,
        message: `would be sent as ${String(value)}; put it in quotes to send it as written`,
      },
    ];
  });
}

function isParam(leaf: { readonly path: ConfigPath }): boolean {
  return leaf.path[0] === 'streams' && leaf.path[2] === 'params';
}
