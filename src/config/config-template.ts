import { stringify } from 'yaml';
import { configDefaults } from '../model/config.ts';
import type { Connector } from '../model/connector.ts';
import { perHour } from '../model/quota.ts';
import { ACCOUNT_KEY_FILE } from './secret-paths.ts';

/** What `sluice init` asks for; a placeholder such as `${DATA_DIR}` is kept. */
export interface TemplateAnswers {
  readonly baseUrl: string;
  readonly duckdb: string;
  /** The API to sync; without one it is the analytics API. */
  readonly connector?: Connector | undefined;
  /** Left out, the default stays the default. */
  readonly stateDir?: string | undefined;
  /** With accounts, `${account}` is in `duckdb` and in `stateDir`. */
  readonly accounts?: TemplateAccounts | undefined;
  /** Where an editor finds the config's schema, from the file's folder. */
  readonly editorSchema?: string | undefined;
}

/** What differs in a config of several accounts. */
export interface TemplateAccounts {
  readonly names: readonly string[];
  /** The lake; `${account}` is in it. */
  readonly parquet: string;
}

const ANALYTICS = 'analytics-read';
const COMMENT_COLUMN = 42;

const ANALYTICS_STREAMS = `#   visibility_mentions:
#     params: { entity: acme }            # sent as query parameters
#   prompts_analytics:
#     key: [promptId, date]               # default: learned and proved on the data
#     cursor: { field: date, param: startDate }
#   commerce_category_products:
#     path: commerce/category-products    # not documented by the API: correct it if yours differs
#   commerce_top_products:
#     enabled: false
`;

/** The commented `sluice.yaml` that `sluice init` writes; it is valid as written. */
export function buildConfigTemplate(answers: TemplateAnswers): string {
  const { baseUrl, editorSchema, connector, accounts } = answers;
  const { requestsPerHour, burstPerSecond } = readLimits(connector);
  const own = connector === undefined || connector.name === ANALYTICS ? undefined : connector;
  const { made, keyLine, accountLines, destination, state } =
    accounts === undefined ? describeOne(answers) : describeMany(answers, accounts);
  const firstLine = editorSchema === undefined ? '' : `# yaml-language-server: $schema=${editorSchema}\n`;
  return `${firstLine}# Sluice: syncs the ${own?.title ?? 'analytics API'} into ${made}. Settings behind a # show their defaults.
source:
  connector: ${own?.name ?? ANALYTICS}
  baseUrl: ${toYamlText(baseUrl)}
  ${keyLine}; never the key itself
  # keyExpiresAt: 2027-06-30              # warns from 14 days before
  # quota:
  #   requestsPerHour: ${String(requestsPerHour).padEnd(19)}# a ceiling of your own; default: what the server says
  #   burstPerSecond: ${burstPerSecond}
  #   reserve: 0                          # requests of each hour left for others

${accountLines}destination:
${destination}

${state}

# defaults:
#   lookback: 3d                          # days read again, because the API restates them
#   freshness: 1h                         # a stream read within this time is not read again
#   fullRefreshEvery: 30d                 # how often everything is read and compared
#   maxInvalidRatio: 0.05                 # share of bad records that fails a stream

# notify:                                 # who is notified: a webhook or a program with arguments
#   onFailure: https://hooks.example.com/data-team
#   onKeyExpiry: [./tell.sh, data-team]

# streams:                                # all built-in streams run unless disabled
${own === undefined ? ANALYTICS_STREAMS : describeStreams(own)}#   my_endpoint:                          # any endpoint, also an undocumented one
#     path: some/new/endpoint
#     paginated: true
`;
}

function readLimits(connector: Connector | undefined) {
  if (connector === undefined) return { requestsPerHour: 600, burstPerSecond: 10 };
  const { requestsPerWindow, windowSeconds, burstPerSecond } = connector.limits;
  return { requestsPerHour: perHour(requestsPerWindow, windowSeconds * 1_000), burstPerSecond };
}

function describeStreams({ streams }: Connector): string {
  return streams.map(({ name }) => `#   ${name}:\n#     enabled: true\n`).join('');
}

/** What the config says in other words where it has accounts. */
interface TemplateParts {
  readonly made: string;
  readonly keyLine: string;
  readonly accountLines: string;
  readonly destination: string;
  readonly state: string;
}

function describeOne({ duckdb, stateDir }: TemplateAnswers): TemplateParts {
  const what = '# work file, checkpoints, lock; private';
  return {
    made: 'a DuckDB file',
    keyLine: 'apiKey: ${ANALYTICS_API_KEY}            # or ${file:/run/secrets/analytics_api_key}',
    accountLines: '',
    destination: `  duckdb: ${toYamlText(duckdb)}
  # parquet: ./lake                       # Parquet files as well, or in its place`,
    state:
      stateDir === undefined
        ? `# stateDir: ${configDefaults.stateDir}                     ${what}`
        : `stateDir: ${toYamlText(stateDir)}   ${what}, and never shared with another config`,
  };
}

function describeMany(
  { duckdb, stateDir = `${configDefaults.stateDir}/\${account}`, connector }: TemplateAnswers,
  { names, parquet }: TemplateAccounts,
): TemplateParts {
  const stream = connector?.streams[0]?.name ?? 'visibility_mentions';
  const all = `${parquet.replaceAll('${account}', '*')}/<table>/current/**/*.parquet`;
  return {
    made: 'files of each account',
    keyLine: `apiKey: \${file:${ACCOUNT_KEY_FILE}}       # one file per account, readable to you alone`,
    accountLines: `${comment('accounts:', '${account} stands for the name of each')}
${names.map((name) => `  ${toYamlText(name)}: {}\n`).join('')}${comment('  # another-account:', 'an account may override what this file sets')}
  #   streams: { ${stream}: { enabled: false } }

`,
    destination: `${comment(`  parquet: ${toYamlText(parquet)}`, `all accounts together: ${all}`)}
${comment(`  duckdb: ${toYamlText(duckdb)}`, 'one file per account; either of the two is enough')}`,
    state: `${comment(`stateDir: ${toYamlText(stateDir)}`, 'work file, checkpoints, lock of each; private')}
${comment('concurrency: 4', 'accounts that read at once; one that waits for its quota is not counted')}`,
  };
}

function comment(line: string, text: string): string {
  return `${line.padEnd(COMMENT_COLUMN - 1)} # ${text}`;
}

function toYamlText(text: string): string {
  // Only the end of the line is removed: `trimEnd` would remove other white space too.
  return stringify(text, { lineWidth: 0, blockQuote: false }).replace(/\n$/, '');
}

/** Where the files of some accounts are, as their config has it. */
interface AccountAnswers {
  readonly duckdb: string;
  readonly stateDir: string;
  readonly accounts: { readonly names: readonly string[]; readonly parquet: string };
}

/** The usual places of accounts below a folder; `${account}` is in each path. */
export function placeAccounts(folder: string, names: readonly string[]): AccountAnswers {
  const duckdb = `${folder}/accounts/\${account}.duckdb`;
  const accounts = { names, parquet: `${folder}/lake/account=\${account}` };
  return { duckdb, stateDir: `${folder}/.sluice/\${account}`, accounts };
}
