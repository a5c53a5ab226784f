import path from 'node:path';
import { ACCOUNT_NAME, accountNameMessage } from '../model/account.ts';
import { configDefaults } from '../model/config.ts';
import { type ConfigFile, isMap, readConfigFile, type YamlRole } from './config-file.ts';
import { type ConfigPath, valueAt } from './config-path.ts';
import { listKnownKeys } from './known-keys.ts';
import type { AllowsKey } from './describe-issues.ts';
import { expandText } from './expand-text.ts';
import type { PlaceholderScope } from './read-placeholder.ts';
import { buildConfigError, type Problem } from './problem.ts';
import { findNearestName } from '../text/suggest-name.ts';

/** One account of a config: its name, and where the config says what. */
export interface ConfigAccount {
  readonly name: string;
  /** What all accounts share. */
  readonly shared: ConfigFile;
  /** What this one says for itself; a file of its own for `accounts: ${file:…}`. */
  readonly own: Readonly<Record<string, unknown>>;
  readonly ownFile: ConfigFile;
  /** Where that stands in its file. */
  readonly ownPath: ConfigPath;
}

/** The accounts of a config. */
export interface ConfigAccounts {
  /** In the order in which they are written; at least one. */
  readonly accounts: readonly ConfigAccount[];
  /** How many read at once. */
  readonly concurrency: number;
}

/** Whether a fleet syncs these accounts. */
export function hasFleet({ accounts }: Pick<ConfigAccounts, 'accounts'>): boolean {
  const shared = accounts[0]?.shared.value;
  return isMap(shared) && isMap(shared.fleet);
}

/** An account of this name with no settings of its own, whether the config has it or not. */
export function nameAccount(shared: ConfigFile, name: string): ConfigAccount {
  return { name, shared, own: {}, ownFile: shared, ownPath: ['accounts', name] };
}

const ONLY_SHARED: readonly ConfigPath[] = [
  ['accounts'],
  ['concurrency'],
  ['destination', 'combined'],
  ['fleet'],
];

/** Which keys could be meant by an unknown one: what an account says for itself is not of all accounts together. */
export function allowsKey(account: ConfigAccount | undefined): AllowsKey {
  return (unknown, known) =>
    account === undefined ||
    valueAt(account.own, unknown) === undefined ||
    !ONLY_SHARED.some((at) => at.join('.') === known.join('.'));
}

/** The accounts of a config, or undefined where it has none; throws a ConfigError for what cannot be one. */
export function listAccounts(shared: ConfigFile, env: PlaceholderScope['env']): ConfigAccounts | undefined {
  if (!isMap(shared.value) || shared.value.accounts === undefined) return undefined;
  const { accounts: written, concurrency } = shared.value;
  const { map, file, at } = findMap(shared, written);
  const accounts = Object.entries(map).map(([name, own]) => ({
    name,
    shared,
    own: isMap(own) ? own : {},
    ownFile: file,
    ownPath: [...at, name],
  }));
  const problems = [
    ...Object.entries(map).flatMap(([name, own]) => findProblems(name, own, [...at, name])),
    ...(accounts.length === 0
      ? [{ path: at, message: 'must name at least one account, e.g. acme: {}', hint: NO_ACCOUNT }]
      : []),
  ];
  if (problems.length > 0) throw buildConfigError(problems, file);
  return { accounts, concurrency: readNumber(concurrency, { env, baseDir: shared.baseDir }) };
}

/** A wrong number is a problem of every account, which checks it. */
function readNumber(written: unknown, scope: PlaceholderScope): number {
  const text = typeof written === 'string' ? expandText(written, scope, false).text : written;
  const number = Number(text ?? configDefaults.concurrency);
  return Number.isInteger(number) && number > 0 ? number : configDefaults.concurrency;
}

const NO_ACCOUNT = 'Without accounts, leave the key out; the config then has one account.';

interface FoundMap {
  readonly map: Readonly<Record<string, unknown>>;
  readonly file: ConfigFile;
  readonly at: ConfigPath;
}

function findMap(shared: ConfigFile, written: unknown): FoundMap {
  if (isMap(written)) return { map: written, file: shared, at: ['accounts'] };
  const [, named] = typeof written === 'string' ? (/^\$\{file:([^}]+)\}$/.exec(written.trim()) ?? []) : [];
  if (named === undefined || shared.path === undefined) {
    // A section with all lines commented out is null in YAML.
    const message =
      written === null
        ? 'must name at least one account, e.g. acme: {}'
        : 'must be a map of account names, or ${file:accounts.yaml}';
    throw buildConfigError([{ path: ['accounts'], message, hint: NO_ACCOUNT }], shared);
  }
  const file = readAccountsFile(shared, named);
  return { map: file.value, file, at: [] };
}

const ACCOUNTS_FILE: YamlRole = {
  title: 'accounts file',
  ifMissing:
    'Check the path in accounts: ${file:…}; a relative path starts at the folder of the config file.',
  content: 'a map of account names, e.g. acme: {}',
  ifOther: 'Write one line for each account, e.g. acme: {}.',
};

/** Reads a file that has the accounts of a config and nothing else. */
function readAccountsFile(shared: ConfigFile, named: string): ConfigFile {
  const read = readConfigFile(path.resolve(shared.baseDir, named), ACCOUNTS_FILE);
  const file = { ...read, fileName: path.normalize(named), baseDir: shared.baseDir };
  const { accounts, ...others } = file.value;
  const settings = listKnownKeys([]);
  const isAlone = accounts !== undefined && Object.keys(others).length === 0;
  const isMapOfNames = isMap(accounts) && Object.keys(accounts).some((name) => !settings.includes(name));
  if (!isAlone && !isMapOfNames) return file;
  const message = 'must not be in this file, which holds the accounts themselves';
  const hint = `Remove the line "accounts:" from ${file.fileName}, and begin with the first name, e.g. acme: {}.`;
  throw buildConfigError([{ path: ['accounts'], message, hint }], file);
}

function findProblems(name: string, own: unknown, at: ConfigPath): readonly Problem[] {
  if (!ACCOUNT_NAME.test(name)) return [{ path: at, message: accountNameMessage(name) }];
  if (own === null) return [];
  if (!isMap(own)) return [{ path: at, message: 'must be a map of settings; {} if it has none of its own' }];
  return ONLY_SHARED.filter((key) => valueAt(own, key) !== undefined).map((key) => ({
    path: [...at, ...key],
    message: `is a setting of all accounts together; write it at the top of the config`,
  }));
}

/** The config of one account: what all share, with what it says for itself on top. */
export function layerAccount({ shared, own, ownFile, ownPath }: ConfigAccount): ConfigFile {
  // Only the commands of a fleet need what is below it: others run without its variables.
  const { accounts: _accounts, fleet: _fleet, ...base } = shared.value;
  const isOwn = (at: ConfigPath) => at.length > 0 && valueAt(own, at) !== undefined;
  return {
    ...shared,
    value: layer(withoutOtherSecret(base, own), own) as ConfigFile['value'],
    locate: (at) => {
      if (!isOwn(at)) return shared.locate(at);
      const writtenAs = [...ownPath, ...at];
      const position = ownFile.locate(writtenAs);
      if (position === undefined) return undefined;
      const { fileName } = ownFile;
      return { ...position, writtenAs, ...(fileName !== undefined && { fileName }) };
    },
    numberText: (at) => (isOwn(at) ? ownFile.numberText([...ownPath, ...at]) : shared.numberText(at)),
  };
}

/** Maps are laid over each other; a text, a number or a list takes the place of what was there. */
function layer(base: unknown, own: unknown): unknown {
  // A section with all lines commented out is null in YAML and means: nothing set here.
  if (own === null || own === undefined) return base;
  if (!isMap(base) || !isMap(own)) return own;
  const names = [...new Set([...Object.keys(base), ...Object.keys(own)])];
  return Object.fromEntries(names.map((name) => [name, layer(base[name], own[name])]));
}

/** An account with a bearer token of its own does not use the API key of the others, and the other way round. */
function withoutOtherSecret(
  base: Readonly<Record<string, unknown>>,
  own: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  if (!isMap(base.source) || !isMap(own.source)) return base;
  const { apiKey: _key, bearerToken: _token, ...source } = base.source;
  if ((own.source.apiKey ?? own.source.bearerToken ?? null) === null) return base;
  return { ...base, source };
}

/**
 * A config without accounts, as it is; throws a ConfigError where it has some, because one has to be chosen. `hint`
 * says how.
 */
export function withoutAccounts(file: ConfigFile, hint = 'Name one of them.'): ConfigFile {
  const names = listAccounts(file, {})?.accounts.map(({ name }) => name);
  if (names !== undefined) {
    const some =
      names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ');
    const message = `has several accounts (${some}), and this works on one at a time`;
    throw buildConfigError([{ path: ['accounts'], message, hint }], file);
  }
  const alone = ONLY_SHARED.filter((at) => isMap(file.value) && (valueAt(file.value, at) ?? null) !== null);
  if (alone.length === 0) return file;
  const meant = Object.keys(file.value).find(isMisspelt);
  if (meant !== undefined)
    throw buildConfigError([{ path: [meant], message: 'unknown key; did you mean "accounts"?' }], file);
  const message = 'only has an effect together with accounts';
  throw buildConfigError(
    alone.map((at) => ({ path: at, message, hint: 'Remove it, or name the accounts.' })),
    file,
  );
}

/** Whether a key at the top can only mean `accounts`. */
function isMisspelt(key: string): boolean {
  const known = listKnownKeys([]);
  return !known.includes(key) && findNearestName(key, known) === 'accounts';
}
