import { z } from 'zod';
import type { ConfigInput } from '../model/config.ts';
import { duration } from '../model/duration.ts';
import { ConfigError } from '../model/errors.ts';
import { suggestName } from '../text/suggest-name.ts';

const text = z.string('must be text').min(1, 'must not be empty');
const path = text.regex(
  /^(?:\/|[A-Za-z]:[\\/]|\\\\)/,
  'must be an absolute path, as programs run connectors in folders of their own',
);
const count = z.int('must be a whole number').min(1, 'must be at least 1');

/** What a client says of a connection, key by key. */
const connectionSchema = z.strictObject({
  config_path: path.optional(),
  account: text.optional(),
  base_url: text.optional(),
  api_key: text.optional(),
  folder: path.optional(),
  connector: text.optional(),
  deletes: z.enum(['keep', 'soft', 'hard'], 'must be keep, soft or hard').optional(),
  requests_per_hour: count.optional(),
  streams: z
    .union([z.array(text), text.transform((names) => names.split(',').map((name) => name.trim()))], {
      error: 'must be a list of stream names',
    })
    .optional(),
  max_wait: duration.optional(),
  deadline: duration.optional(),
});

/** The keys that a config file has in place of. */
const INLINE = ['base_url', 'api_key', 'folder', 'connector', 'deletes', 'requests_per_hour'] as const;

/** How a client reaches the data: by a config file, or by what a connection says itself. */
export interface Connection {
  readonly source:
    | { readonly kind: 'file'; readonly path: string; readonly account: string | undefined }
    | { readonly kind: 'inline'; readonly folder: string; readonly config: ConfigInput };
  /** Names of streams; undefined for all. */
  readonly streams: readonly string[] | undefined;
  /** How long a read waits for the quota. */
  readonly maxWaitMs: number;
  readonly deadlineMs: number | undefined;
}

/**
 * Reads the JSON that a client passes as `--config`.
 *
 * @throws ConfigError that names every key that is wrong, and never a value
 */
export function parseConnection(value: unknown): Connection {
  const parsed = connectionSchema.safeParse(dropInjected(value));
  if (!parsed.success) throw refuse(parsed.error.issues.map(describeIssue));
  const given = parsed.data;
  const problems = findContradictions(given);
  if (problems.length > 0) throw refuse(problems);
  const { streams, max_wait: maxWaitMs = 0, deadline: deadlineMs } = given;
  const limits = { streams, maxWaitMs, deadlineMs };
  if (given.config_path !== undefined)
    return { source: { kind: 'file', path: given.config_path, account: given.account }, ...limits };
  const { folder = '' } = given;
  return { source: { kind: 'inline', folder, config: buildConfig(given, folder) }, ...limits };
}

type Given = z.output<typeof connectionSchema>;

/** Platforms add keys of their own, which begin with two underscores; empty forms send null. */
function dropInjected(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([key, one]) => !key.startsWith('__') && one !== null),
  );
}

function findContradictions(given: Given): readonly string[] {
  if (given.config_path !== undefined)
    return INLINE.filter((key) => given[key] !== undefined).map(
      (key) => `${key}: is in the file that config_path names; keep one of the two`,
    );
  const missing = (['base_url', 'api_key', 'folder'] as const).filter((key) => given[key] === undefined);
  return [
    ...(missing.length === 3
      ? ['config_path: is missing; name a sluice.yaml, or give base_url, api_key and folder']
      : missing.map((key) => `${key}: is missing`)),
    ...(given.account === undefined
      ? []
      : ['account: is one of a sluice.yaml with accounts, so it needs config_path']),
  ];
}

function buildConfig(given: Given, folder: string): ConfigInput {
  const { base_url: baseUrl = '', api_key: apiKey = '', connector = 'analytics-read' } = given;
  const { deletes, requests_per_hour: requestsPerHour } = given;
  return {
    source: {
      connector,
      baseUrl,
      apiKey,
      ...(requestsPerHour !== undefined && { quota: { requestsPerHour } }),
    },
    destination: { duckdb: `${folder}/warehouse.duckdb` },
    stateDir: `${folder}/.sluice`,
    ...(deletes !== undefined && { defaults: { deletes } }),
  };
}

function describeIssue(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') {
    const known = Object.keys(connectionSchema.shape);
    return issue.keys.map((key) => `unknown key ${JSON.stringify(key)}${suggestName(key, known)}`).join('\n');
  }
  const key = issue.path.map(String).join('.');
  return key === '' ? 'it must be a JSON object' : `${key}: ${issue.message}`;
}

function refuse(problems: readonly string[]): ConfigError {
  return new ConfigError(`the connection config is not valid\n${problems.join('\n')}`, {
    code: 'config_invalid',
    hint: 'docs/integrations.md lists its keys; `sluice airbyte spec` prints them as JSON Schema. Nothing was requested.',
  });
}
