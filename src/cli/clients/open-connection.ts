import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Connection, parseConnection } from '../../clients/connection.ts';
import { ConfigError } from '../../model/errors.ts';
import type { Settings, SyncOptions } from '../../model/settings.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import { chooseAccounts } from '../steps/choose-accounts.ts';
import { describeChosen } from '../steps/describe-chosen.ts';
import { DEFAULT_CONFIG, loadSettings } from '../steps/load-settings.ts';
import { readJsonFile } from './json-file.ts';

/** Everything that a client's connection config says, checked. */
export interface OpenConnection {
  readonly settings: Settings;
  /** Of the sync that runs before rows are sent. */
  readonly sync: SyncOptions;
  /** Streams that the client may see; undefined for all. */
  readonly streams: readonly string[] | undefined;
}

/**
 * Reads the connection config: the JSON of a client, or a `sluice.yaml` as it is.
 *
 * @throws ConfigError (2) before any request
 */
export async function openConnection(context: CliContext, globals: GlobalValues): Promise<OpenConnection> {
  const { config = DEFAULT_CONFIG } = globals;
  const connection = parseConnection(
    isYaml(config)
      ? { config_path: resolve(context.cwd, config) }
      : readJsonFile(context, 'connection config', config),
  );
  const { streams, maxWaitMs, deadlineMs } = connection;
  const limits = { maxWaitMs, ...(deadlineMs !== undefined && { deadlineMs }) };
  const { source } = connection;
  if (source.kind === 'inline') {
    const settings = await loadInline(context, source);
    return { settings, sync: limits, streams };
  }
  if (!isYaml(config) && !existsSync(source.path))
    throw new ConfigError(`config_path: there is no file ${source.path}`, {
      code: 'config_not_found',
      hint: 'Give the absolute path of a sluice.yaml, as this machine or container has it. Nothing was requested.',
      context: { path: source.path },
    });
  const { own, ofAccount } = await chooseAccount(context, globals, source);
  const settings = await loadSettings(own, { ...globals, config: source.path });
  return { settings, sync: { ...limits, ...(ofAccount && { ofAccount }) }, streams };
}

function isYaml(config: string): boolean {
  return /\.ya?ml$/.test(config);
}

type Source<Kind> = Extract<Connection['source'], { readonly kind: Kind }>;

/** The account of a config that has several; each connection is of one. */
async function chooseAccount(
  context: CliContext,
  globals: GlobalValues,
  { path, account }: Source<'file'>,
): Promise<{ readonly own: CliContext } & Pick<SyncOptions, 'ofAccount'>> {
  const named = { ...globals, config: path };
  const known = await chooseAccounts(context, named, account === undefined ? undefined : [account]);
  if (known === undefined) return { own: context };
  const [chosen, ...others] = known.chosen;
  if (account === undefined || chosen === undefined || others.length > 0)
    throw new ConfigError(
      `account: must name one of the accounts of ${path}: ${known.accounts.map(({ name }) => name).join(', ')}`,
      { code: 'config_invalid', hint: 'Make one connection for each account.' },
    );
  const describe = await describeChosen(context, named, known);
  return { own: { ...context, account: chosen }, ofAccount: describe(chosen.name) };
}

async function loadInline(context: CliContext, { folder, config }: Source<'inline'>): Promise<Settings> {
  const { engine, env, clock, keepSecret } = context;
  const { apiKey } = config.source;
  if (apiKey !== undefined) keepSecret(apiKey);
  if (!existsSync(folder)) {
    if (!existsSync(dirname(folder)))
      throw new ConfigError(`folder: there is no folder ${dirname(folder)}`, {
        code: 'config_invalid',
        hint: 'Name a folder that stays between reads. In a container, mount a volume there. Nothing was requested.',
      });
    mkdirSync(folder, { mode: 0o700 });
  }
  try {
    return await engine.clients.resolveConfig(config, { env, nowMs: clock.now() });
  } catch (thrown) {
    throw thrown instanceof ConfigError ? inTheirWords(thrown) : thrown;
  }
}

const KEYS: Readonly<Record<string, string>> = {
  'source.baseUrl': 'base_url',
  'source.apiKey': 'api_key',
  'source.connector': 'connector',
  'source.quota.requestsPerHour': 'requests_per_hour',
  'defaults.deletes': 'deletes',
};

/** The keys of a connection have other names than those of a config file. */
function inTheirWords(error: ConfigError): ConfigError {
  const rename = (text: string) =>
    Object.entries(KEYS).reduce((renamed, [from, to]) => renamed.replaceAll(from, to), text);
  const { code, hint, context, message } = error;
  return new ConfigError(rename(message), { code, hint: rename(hint), context, cause: error });
}
