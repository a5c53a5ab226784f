import { writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Connector } from '../../model/connector.ts';
import { ConfigError, StorageError } from '../../model/errors.ts';
import { defineCommand } from '../frame/command.ts';
import type { CliContext } from '../frame/context.ts';
import type { Output } from '../terminal/output.ts';
import { flagOption, textOption } from '../options/option-kinds.ts';
import { toSafeLine } from '../render/safe-text.ts';
import { suggestName } from '../options/suggest-name.ts';
import { usageError } from '../options/usage-error.ts';
import { chooseOwnPlaces } from '../steps/own-places.ts';
import { DEFAULT_CONFIG } from '../steps/load-settings.ts';

const EXAMPLE_URL = 'https://analytics.example.com/api/v1';
const group = 'Answers:';

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
    yes: flagOption({ flag: 'yes', summary: 'Ask nothing', group }),
  },
  examples: [
    ['sluice init', 'Asks'],
    [`sluice init --yes --base-url ${EXAMPLE_URL}`, 'Asks nothing'],
  ],
  async run(context, { values, globals }) {
    context.chooseStop('quit');
    const path = globals.config ?? DEFAULT_CONFIG;
    const connector = values.connector === undefined ? undefined : await findConnector(values.connector);
    if (values.baseUrl !== undefined) await assertUrl(values.baseUrl);
    const asks = values.yes !== true && globals.json !== true;
    const prompt = asks ? context.prompt : undefined;
    const baseUrl = values.baseUrl ?? (await askForUrl(prompt, context.output));
    const absolutePath = resolve(context.cwd, path);
    const own = chooseOwnPlaces(absolutePath);
    const duckdb = values.duckdb ?? (await ask(prompt, 'DuckDB file to publish', own.duckdb));
    const { stateDir } = own;
    const answers = { baseUrl, duckdb, stateDir, connector, folder: dirname(absolutePath) };
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
      },
      text: describeNextSteps({ path, baseUrl, stateDir, connector }),
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

interface Written {
  readonly path: string;
  readonly baseUrl: string;
  readonly stateDir: string | undefined;
  readonly connector: Connector | undefined;
}

function describeNextSteps({ path, baseUrl, stateDir, connector }: Written): string {
  const place = connector?.auth.whereKeysAreMade ?? 'the dashboard: Settings > API Keys';
  const option = path === DEFAULT_CONFIG ? '' : ` -c ${path}`;
  const steps = [
    ...(baseUrl === EXAMPLE_URL ? [`set source.baseUrl in ${path} to your API's address`] : []),
    `export ANALYTICS_API_KEY=...   (from ${place})`,
    `sluice check${option}`,
    `sluice sync${option}`,
  ];
  const own =
    stateDir === undefined
      ? ''
      : ' Another config is in this folder: this one has a state folder and a destination of its own.';
  return [`Wrote ${path}.${own} Next:`, ...steps.map((step, i) => `  ${i + 1}. ${step}`)].join('\n');
}
