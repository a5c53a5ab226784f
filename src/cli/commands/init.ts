import { stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Connector } from '../../model/connector.ts';
import { ConfigError, StorageError } from '../../model/errors.ts';
import { listNames } from '../../text/list-names.ts';
import { defineCommand } from '../frame/command.ts';
import type { CliContext } from '../frame/context.ts';
import type { ConfigAnswers } from '../frame/engine.ts';
import type { Output } from '../terminal/output.ts';
import { readAccountNames } from '../options/account-names.ts';
import { flagOption, textOption } from '../options/option-kinds.ts';
import { toSafeLine } from '../../render/safe-text.ts';
import { quoteForShell } from '../options/quote-for-shell.ts';
import { suggestName } from '../options/suggest-name.ts';
import { usageError } from '../options/usage-error.ts';
import { placeAccounts } from '../../config/config-template.ts';
import { chooseOwnPlaces } from '../steps/own-places.ts';
import { DEFAULT_CONFIG } from '../steps/load-settings.ts';

const EXAMPLE_URL = 'https://analytics.example.com/api/v1';
const group = 'Answers:';
const ONE_FILE_EACH = 'the DuckDB file needs ${account} in its path, so that each account has its own';

/** The first config file. */
export const initCommand = defineCommand({
  description:
    'Writes a config file with the usual settings explained. Asks for two values on a terminal; ' +
    'never overwrites a file.',
  options: {
    connector: textOption({
      flag: 'connector',
      valueName: 'name',
      summary: 'The API, by the name of its connector',
      group,
      example: 'analytics-read',
    }),
    baseUrl: textOption({
      flag: 'base-url',
      valueName: 'url',
      summary: 'Address of the API, ending in its version',
      group,
      example: EXAMPLE_URL,
    }),
    duckdb: textOption({
      flag: 'duckdb',
      valueName: 'file',
      summary: 'The DuckDB file readers will open',
      group,
      example: './warehouse.duckdb',
    }),
    accounts: textOption({
      flag: 'accounts',
      valueName: 'names',
      summary: 'Accounts to sync, each with a key and files of its own (default: one key, no accounts)',
      group,
      example: 'acme,globex',
    }),
    yes: flagOption({ flag: 'yes', summary: 'Ask nothing', group }),
  },
  examples: [
    ['sluice init', 'Asks'],
    [`sluice init --yes --base-url ${EXAMPLE_URL}`, 'Asks nothing'],
    ['sluice init --accounts acme,globex', 'For several accounts, each with its key'],
  ],
  async run(context, { values, globals }) {
    context.chooseStop('quit');
    const path = globals.config ?? DEFAULT_CONFIG;
    const connector = values.connector === undefined ? undefined : await findConnector(values.connector);
    if (values.baseUrl !== undefined) await assertUrl(values.baseUrl);
    const names = values.accounts === undefined ? undefined : readAccountNames(values.accounts, '--accounts');
    if (names !== undefined && values.duckdb !== undefined) assertNamesAccount(values.duckdb);
    const asks = values.yes !== true && globals.json !== true;
    const prompt = asks ? context.prompt : undefined;
    const baseUrl = values.baseUrl ?? (await askForUrl(prompt, context.output));
    const absolutePath = resolve(context.cwd, path);
    const own = chooseOwnPlaces(absolutePath);
    const isSecond = own.stateDir !== undefined;
    const places = names === undefined ? own : placeAccounts(isSecond ? dirname(own.duckdb) : '.', names);
    const duckdb = values.duckdb ?? (await askForFile(prompt, places, context.output));
    const { stateDir } = places;
    const answers = { ...places, baseUrl, duckdb, connector, folder: dirname(absolutePath) };
    const accounts = names && (await listKeyFiles(names));
    await writeNewFile(absolutePath, path, await context.engine.buildConfigTemplate(answers));
    return {
      exitCode: 0,
      summary: `wrote ${path}`,
      result: {
        path: absolutePath,
        baseUrl,
        duckdb,
        ...(connector && { connector: connector.name }),
        ...(stateDir !== undefined && { stateDir }),
        ...(accounts && {
          accounts: accounts.map(({ name, keyFile }) => ({
            name,
            keyFile: resolve(dirname(absolutePath), keyFile),
          })),
        }),
      },
      text: describeNextSteps({ path, baseUrl, isSecond, connector, accounts }),
    };
  },
});

async function ask(prompt: CliContext['prompt'], question: string, fallback: string): Promise<string> {
  return prompt === undefined ? fallback : prompt(question, fallback);
}

/** Asks until the answer is an address, so that a typo does not mean starting over. */
async function askForUrl(prompt: CliContext['prompt'], output: Pick<Output, 'writeNote'>): Promise<string> {
  for (;;) {
    const answer = await ask(prompt, 'Base URL of the API', EXAMPLE_URL);
    const flaw = await findFlaw(answer);
    if (flaw === undefined) return answer;
    output.writeNote(`The base URL ${flaw}, for example ${EXAMPLE_URL}`);
  }
}

/** Asks until the path has a file for each account, where there are accounts. */
async function askForFile(
  prompt: CliContext['prompt'],
  { duckdb, accounts }: Pick<ConfigAnswers, 'duckdb' | 'accounts'>,
  output: Pick<Output, 'writeNote'>,
): Promise<string> {
  for (;;) {
    const answer = await ask(prompt, 'DuckDB file to publish', duckdb);
    if (accounts === undefined || answer.includes('${account}')) return answer;
    output.writeNote(`${ONE_FILE_EACH}, for example ${duckdb}`);
  }
}

function assertNamesAccount(duckdb: string): void {
  if (duckdb.includes('${account}')) return;
  throw usageError(
    ONE_FILE_EACH,
    "For example: --duckdb './accounts/${account}.duckdb', in single quotes, so that the shell leaves it as it is.",
  );
}

async function listKeyFiles(names: readonly string[]): Promise<readonly KeyFile[]> {
  const { ACCOUNT_KEY_FILE } = await import('../../config/secret-paths.ts');
  return names.map((name) => ({ name, keyFile: ACCOUNT_KEY_FILE.replace('${account}', name) }));
}

async function assertUrl(text: string): Promise<void> {
  const flaw = await findFlaw(text);
  if (flaw === undefined) return;
  throw usageError(`the base URL ${flaw}`, `For example: --base-url ${EXAMPLE_URL}`);
}

async function findConnector(name: string): Promise<Connector> {
  const { connectors } = await import('../../../connectors/registry.ts');
  const known: Readonly<Record<string, Connector>> = connectors;
  const found = Object.hasOwn(known, name) ? known[name] : undefined;
  if (found !== undefined) return found;
  const names = Object.keys(known);
  const nearest = await suggestName(name, names);
  const question = nearest === undefined ? '' : `; did you mean ${nearest}?`;
  throw usageError(
    `there is no connector "${toSafeLine(name)}"${question}`,
    `Connectors: ${names.join(', ')}. Another API needs one first: docs/writing-a-connector.md. Nothing was written.`,
  );
}

async function findFlaw(text: string): Promise<string | undefined> {
  const { findBaseUrlFlaw } = await import('../../config/base-url.ts');
  return findBaseUrlFlaw(text);
}

async function writeNewFile(absolutePath: string, path: string, text: string): Promise<void> {
  try {
    // `wx` makes "never overwrites" true even for two inits at once.
    await writeFile(absolutePath, text, { flag: 'wx' });
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    if (code === 'EEXIST' && (await stat(absolutePath).catch(() => undefined))?.isDirectory() === true) {
      const hint = `Name a file in it: sluice init -c ${quoteForShell(join(path, basename(DEFAULT_CONFIG)))}`;
      throw usageError(`${path} is a folder; nothing was written`, hint);
    }
    if (code === 'EEXIST') {
      throw new ConfigError(`${path} already exists and was left unchanged`, {
        code: 'usage_invalid',
        hint: 'Edit it, remove it first, or write another file: sluice init -c other.yaml',
        context: { path },
        cause,
      });
    }
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      throw new ConfigError(`the folder of ${path} does not exist`, {
        code: 'usage_invalid',
        hint: 'Create the folder first, or choose another with -c.',
        context: { path },
        cause,
      });
    }
    throw new StorageError(`${path} could not be written (${code || 'unknown cause'})`, {
      code: 'storage_failed',
      hint: 'Check the permissions and free space of its folder, or choose another with -c.',
      context: { path },
      cause,
    });
  }
}

/** Where the key of an account is read from, as the config says it. */
interface KeyFile {
  readonly name: string;
  readonly keyFile: string;
}

interface Written {
  readonly path: string;
  readonly baseUrl: string;
  /** Whether another config is in its folder. */
  readonly isSecond: boolean;
  readonly connector: Connector | undefined;
  readonly accounts: readonly KeyFile[] | undefined;
}

function describeNextSteps({ path, baseUrl, isSecond, connector, accounts }: Written): string {
  const place = connector?.auth.whereKeysAreMade ?? 'the dashboard: Settings > API Keys';
  const option = path === DEFAULT_CONFIG ? '' : ` -c ${path}`;
  const steps = [
    ...(baseUrl === EXAMPLE_URL ? [`set source.baseUrl in ${path} to your API's address`] : []),
    accounts === undefined
      ? `export ANALYTICS_API_KEY=...   (from ${place})`
      : `create the key file of each account, with its key (from ${place}) and mode 0600, ` +
        `readable to you alone: ${listNames(accounts.map(({ keyFile }) => join(dirname(path), keyFile)))}`,
    `sluice check${option}`,
    `sluice sync${option}`,
  ];
  const own = !isSecond
    ? ''
    : ' Another config is in this folder: this one has a state folder and a destination of its own.';
  return [`Wrote ${path}.${own} Next:`, ...steps.map((step, i) => `  ${i + 1}. ${step}`)].join('\n');
}
