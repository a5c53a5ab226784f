import { stringify } from 'yaml';
import { configDefaults } from '../model/config.ts';
import type { Connector } from '../model/connector.ts';
import { perHour } from '../model/quota.ts';

/** What `sluice init` asks for; a placeholder such as `${DATA_DIR}` is kept. */
export interface TemplateAnswers {
  readonly baseUrl: string;
  readonly duckdb: string;
  /** The API to sync; without one it is the analytics API. */
  readonly connector?: Connector | undefined;
  /** Left out, the default stays the default. */
  readonly stateDir?: string | undefined;
  /** Where an editor finds the config's schema, from the file's folder. */
  readonly editorSchema?: string | undefined;
}

const ANALYTICS = 'analytics-read';

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
  const { baseUrl, duckdb, stateDir, editorSchema, connector } = answers;
  const { requestsPerHour, burstPerSecond } = readLimits(connector);
  const own = connector === undefined || connector.name === ANALYTICS ? undefined : connector;
  const firstLine = editorSchema === undefined ? '' : `# yaml-language-server: $schema=${editorSchema}\n`;
  return `${firstLine}# Sluice: syncs the ${own?.title ?? 'analytics API'} into a DuckDB file. Settings behind a # show their defaults.
source:
  connector: ${own?.name ?? ANALYTICS}
  baseUrl: ${toYamlText(baseUrl)}
  apiKey: \${ANALYTICS_API_KEY}            # or \${file:/run/secrets/analytics_api_key}; never the key itself
  # keyExpiresAt: 2027-06-30              # warns from 14 days before
  # quota:
  #   requestsPerHour: ${String(requestsPerHour).padEnd(19)}# a ceiling of your own; default: what the server says
  #   burstPerSecond: ${burstPerSecond}
  #   reserve: 0                          # requests of each hour left for others

destination:
  duckdb: ${toYamlText(duckdb)}
  # parquet: ./lake                       # Parquet files as well, or in its place

${toStateLine(stateDir)}

# defaults:
#   lookback: 3d                          # days read again, because the API restates them
#   freshness: 1h                         # a stream read within this time is not read again
#   fullRefreshEvery: 30d                 # how often everything is read and compared
#   maxInvalidRatio: 0.05                 # share of bad records that fails a stream

# notify:                                 # who is told: a webhook or a program with arguments
#   onFailure: https://hooks.example.com/data-team
#   onKeyExpiry: [./tell.sh, data-team]

# streams:                                # all built-in streams run unless disabled
${own === undefined ? ANALYTICS_STREAMS : describeStreams(own)}#   my_endpoint:                          # any endpoint the API's text does not list
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

function toStateLine(stateDir: string | undefined): string {
  const what = '# work file, checkpoints, lock; private';
  return stateDir === undefined
    ? `# stateDir: ${configDefaults.stateDir}                     ${what}`
    : `stateDir: ${toYamlText(stateDir)}   ${what}, and never shared with another config`;
}

function toYamlText(text: string): string {
  // Only the end of the line is removed: `trimEnd` would remove other white space too.
  return stringify(text, { lineWidth: 0, blockQuote: false }).replace(/\n$/, '');
}
