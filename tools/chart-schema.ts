import { secretDestinationPaths } from '../src/model/destination.ts';
import { secretFleetPaths } from '../src/model/fleet.ts';
import { secretPaths } from '../src/config/secret-paths.ts';
import { writeEditorSchema } from './editor-schema.ts';

/** A JSON Schema, as far as this file looks into it. */
type Node = Readonly<Record<string, unknown>>;

const text = { type: 'string' };
const name = { type: 'string', pattern: '^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$' };
const item = { type: 'string', pattern: '^[-._a-zA-Z0-9]+$' };
const size = { type: 'string', pattern: '^[0-9]+(\\.[0-9]+)?([KMGTP]i?)?$' };
const onOff = { type: 'boolean' };
const count = (minimum: number) => ({ type: 'integer', minimum });
const port = { type: 'integer', minimum: 1, maximum: 65_535 };
const map = { type: 'object' };
const texts = { type: 'object', additionalProperties: text };
const list = (items: Node) => ({ type: 'array', items });
/** An object that has these keys and no others. */
const only = (properties: Node) => ({ type: 'object', additionalProperties: false, properties });

const monitor = only({
  enabled: onOff,
  interval: { type: 'string', pattern: '^[0-9]+[smh]$' },
  labels: texts,
});

const values = {
  mode: { enum: ['cronjob', 'schedule', 'fleet'] },
  image: only({
    repository: { ...text, minLength: 1 },
    tag: text,
    digest: { type: 'string', pattern: '^(sha256:[0-9a-f]{64})?$' },
    pullPolicy: { enum: ['Always', 'IfNotPresent', 'Never'] },
    pullSecrets: list(only({ name })),
  }),
  keys: only({
    secret: name,
    item,
    accountSecretPrefix: { type: 'string', pattern: '^[a-z0-9.-]*$' },
    accountItem: item,
    accountsSecret: { anyOf: [{ const: '' }, name] },
  }),
  secretFiles: list({ ...name, not: { enum: ['sluice', 'fleet'] } }),
  schedule: { type: 'string', pattern: '^(@(hourly|daily|weekly|monthly|yearly)|\\S+( +\\S+){4})$' },
  timeZone: { ...text, minLength: 1 },
  deadline: { type: 'string', pattern: '^[0-9]+(\\.[0-9]+)?[smhd]$' },
  args: list(text),
  env: list({ type: 'object', required: ['name'], properties: { name: text } }),
  cronjob: only({
    suspend: onOff,
    backoffLimit: count(0),
    activeDeadlineSeconds: count(60),
    startingDeadlineSeconds: count(10),
    successfulJobsHistoryLimit: count(0),
    failedJobsHistoryLimit: count(0),
  }),
  fleet: only({
    secret: name,
    replicas: count(0),
    lanes: count(1),
    scratch: size,
    keda: only({ enabled: onOff, minReplicaCount: count(0), maxReplicaCount: count(1) }),
  }),
  persistence: only({
    existingClaim: text,
    size,
    storageClass: text,
    accessModes: list({ enum: ['ReadWriteOnce', 'ReadWriteOncePod', 'ReadWriteMany'] }),
    keep: onOff,
  }),
  resources: only({ requests: map, limits: map, claims: { type: 'array' } }),
  terminationGracePeriodSeconds: { anyOf: [count(10), { type: 'null' }] },
  serviceAccountName: text,
  podLabels: texts,
  podAnnotations: texts,
  nodeSelector: texts,
  tolerations: list(map),
  affinity: map,
  priorityClassName: text,
  metrics: only({
    port,
    podMonitor: monitor,
    serviceMonitor: monitor,
    rules: only({
      enabled: onOff,
      labels: texts,
      runbookBase: { type: 'string', pattern: '^(https?://\\S+)?$' },
    }),
    dashboard: only({ enabled: onOff, labels: texts }),
  }),
  networkPolicy: only({
    enabled: onOff,
    metricsFrom: list(map),
    dns: list(map),
    api: list(map),
    postgres: only({ to: list(map), port }),
    objectStore: only({ to: list(map), port }),
    egress: list(map),
  }),
  // Helm's own, which charts above this one may set.
  global: map,
};

const secrets: readonly (readonly string[])[] = [
  ...secretPaths,
  ...secretDestinationPaths,
  ...secretFleetPaths,
];
const secret = { $ref: '#/definitions/secret' };

/**
 * A placeholder, said in a way that Helm refuses without printing the value: of a pattern it prints what does not match,
 * and of a constant only what it should be.
 */
function describeSecret({ pattern }: Node): Node {
  return {
    type: 'string',
    anyOf: [{ const: 'a placeholder, e.g. ${ANALYTICS_API_KEY}' }, { not: { not: { pattern } } }],
  };
}

/**
 * JSON Schema of the chart's values: those above, and under `config` the schema of sluice.yaml. Secrets are placeholders
 * there, as values are kept in the release and printed by Helm.
 */
export async function writeChartSchema(): Promise<string> {
  const editor = JSON.parse(await writeEditorSchema()) as Node;
  const { $schema, title: _title, required: _required, ...rest } = adapt(editor, []) as Node;
  const { definitions, ...config } = rest as Node & { readonly definitions: Readonly<Record<string, Node>> };
  const schema = {
    $schema,
    title: 'values.yaml',
    type: 'object',
    additionalProperties: false,
    properties: { ...values, config },
    definitions: { ...definitions, secret: describeSecret(definitions['placeholder'] ?? {}) },
  };
  const moved = JSON.stringify(schema, undefined, 2).replaceAll(
    '"#/properties/streams"',
    '"#/properties/config/properties/streams"',
  );
  return `${moved}\n`;
}

/** The schema of the config, for what the chart completes: secrets as placeholders, and what it adds is not required. */
function adapt(node: unknown, path: readonly string[]): unknown {
  if (Array.isArray(node)) return node.map((one) => adapt(one, path));
  if (!isNode(node)) return node;
  if (isSecret(path) && 'description' in node) return { description: node['description'], ...secret };
  const kept = Object.entries(node).filter((entry) => !isLeftOut(entry, path));
  return Object.fromEntries(
    kept.map(([keyword, value]) => {
      if (keyword !== 'properties' || !isNode(value)) return [keyword, adapt(value, path)] as const;
      const properties = Object.entries(value).map(
        ([key, child]) => [key, adapt(child, [...path, key])] as const,
      );
      return [keyword, Object.fromEntries(properties)] as const;
    }),
  );
}

function isLeftOut([keyword, value]: readonly [string, unknown], path: readonly string[]): boolean {
  // Helm's checker has no lookaheads, and these words are for editors.
  if (keyword === 'patternErrorMessage') return true;
  if (keyword === 'pattern') return String(value).includes('(?!');
  // The key of the source, and the database and key of a fleet.
  if (keyword === 'oneOf') return path.join('.') === 'source';
  return keyword === 'required' && path.join('.') === 'fleet';
}

function isSecret(path: readonly string[]): boolean {
  return secrets.some((secret) => secret.every((key, index) => path.at(index - secret.length) === key));
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
