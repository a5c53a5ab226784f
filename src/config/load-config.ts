import type { Config, ConfigInput } from '../model/config.ts';
import { fleetSchema } from '../model/fleet.ts';
import { allowsKey, type ConfigAccount, layerAccount, listAccounts, withoutAccounts } from './accounts.ts';
import { type ConfigFile, readConfigFile, wrapConfig } from './config-file.ts';
import type { ConfigPath } from './config-path.ts';
import { interpolate, listLeaves, type ConfigLeaf } from './interpolate.ts';
import { buildConfigError, type Problem } from './problem.ts';
import { optionalPaths } from './secret-paths.ts';
import { validateConfig, withoutFollowing } from './validate-config.ts';

/** A valid config and where each of its values came from. */
export interface LoadedConfig extends Pick<ConfigFile, 'path' | 'baseDir' | 'fileName' | 'locate'> {
  readonly config: Config;
  /** The account it is of; undefined in a config without accounts. */
  readonly account: string | undefined;
  readonly leaves: readonly ConfigLeaf[];
}

/** Options of `loadConfig`. */
export interface LoadOptions {
  readonly path: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `optional`: an unset key is not an error, for commands that send no request. Default `required`. */
  readonly secrets?: 'required' | 'optional';
  /** One account of a config that has several. */
  readonly account?: ConfigAccount | undefined;
}

/** Reads, interpolates and validates a config file; throws one ConfigError that lists every problem. */
export function loadConfig({ path, env, secrets, account }: LoadOptions): LoadedConfig {
  const file = account === undefined ? withoutAccounts(readConfigFile(path)) : layerAccount(account);
  const interpolated = interpolate(file.value, {
    env,
    baseDir: file.baseDir,
    account: account?.name,
    optional: secrets === 'optional' ? optionalPaths : [],
  });
  const replaced = interpolated.leaves
    .filter((leaf) => leaf.placeholders.length > 0)
    .map((leaf) => leaf.path);
  const validation = validateConfig(interpolated.value, replaced, allowsKey(account));
  const problems = [
    ...interpolated.problems,
    ...findChangedNumbers(interpolated.leaves, file),
    ...('problems' in validation ? withoutFollowing(validation.problems, interpolated.problems) : []),
  ];
  if (problems.length > 0 || 'problems' in validation) throw buildConfigError(problems, file);
  const leaves = [...interpolated.leaves, ...listFleetLeaves(account, env)];
  return { ...file, account: account?.name, config: validation.config, leaves };
}

/** What the config says of its fleet, to be shown: only the commands of a fleet need its variables. */
function listFleetLeaves(account: ConfigAccount | undefined, env: LoadOptions['env']): readonly ConfigLeaf[] {
  const fleet = account?.shared.value.fleet ?? undefined;
  if (account === undefined || fleet === undefined) return [];
  const { baseDir } = account.shared;
  const optional = Object.keys(fleetSchema.shape).map((key) => ['fleet', key]);
  return interpolate({ fleet }, { env, baseDir, account: undefined, optional }).leaves;
}

/** Validates a config given as an object; relative paths start at `baseDir`, by default the current folder. */
export function parseConfig(
  input: unknown,
  baseDir: string = process.cwd(),
  account?: ConfigAccount,
): LoadedConfig {
  const file = account === undefined ? withoutAccounts(wrapConfig(input, baseDir)) : layerAccount(account);
  const validation = validateConfig(file.value, [], allowsKey(account));
  if ('problems' in validation) throw buildConfigError(validation.problems, file);
  return { ...file, account: account?.name, config: validation.config, leaves: listLeaves(file.value) };
}

/** Types a config written in TypeScript, and returns it unchanged. */
export function defineConfig(input: ConfigInput): ConfigInput {
  const { accounts } = listAccounts(wrapConfig(input), {}) ?? {};
  if (accounts === undefined) parseConfig(input);
  else for (const account of accounts) parseConfig(input, undefined, account);
  return input;
}

// YAML reads 007 as 7 and 1.10 as 1.1, which would be a different query parameter.
function findChangedNumbers(leaves: readonly ConfigLeaf[], { numberText }: ConfigFile): readonly Problem[] {
  return leaves.filter(isParam).flatMap(({ path: leafPath, value }) => {
    const text = numberText(leafPath);
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
