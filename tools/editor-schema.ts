import { z } from 'zod';
import { connectors } from '../connectors/registry.ts';
import { plainColumnTypes } from '../src/model/column-type.ts';
import { configSchema, partitionMessage } from '../src/model/config.ts';
import { durationMessage } from '../src/model/duration.ts';
import { ACCOUNT_NAME } from '../src/model/account.ts';
import type { Connector } from '../src/model/connector.ts';
import { DURATION_TEXT } from '../src/text/duration.ts';
import { PARTITION_TEXT } from '../src/model/lake.ts';
import { configReference } from './config-reference.ts';

/** The part of JSON Schema (draft 7) that the config needs. */
interface Node {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: Node | boolean;
  readonly items?: Node;
  readonly anyOf?: readonly Node[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly pattern?: string;
  readonly [keyword: string]: unknown;
}

const known: readonly Connector[] = Object.values(connectors);

// `$${` is text; `${` with anything else before it starts a placeholder.
const PLACEHOLDER = String.raw`(?:^|[^$])\$\{(?:file:[^}]+|[A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?)\}`;
const placeholder = { $ref: '#/definitions/placeholder' };

/** What editors say in the place of a pattern that a text does not match. */
const wordsOfPatterns: Readonly<Record<string, string>> = {
  [DURATION_TEXT.source]: durationMessage,
  [PARTITION_TEXT.source]: partitionMessage,
};

/** Maps that stand for nothing set when every line in them is commented out. */
const sections = ['source.quota', 'defaults', 'retention', 'notify', 'streams'];

/** What checks of the config's own code say, in JSON Schema's words. */
const additions: Readonly<Record<string, Node>> = {
  source: { oneOf: [{ required: ['apiKey'] }, { required: ['bearerToken'] }] },
  'source.connector': { enum: Object.keys(connectors) },
  'source.baseUrl': {
    pattern: '^[Hh][Tt][Tt][Pp][Ss]?://',
    patternErrorMessage: 'must be a URL that starts with https://',
  },
  destination: {
    anyOf: ['duckdb', 'parquet', 'ducklake', 'iceberg', 'postgres', 'motherduck'].map((kind) => ({
      required: [kind],
    })),
  },
  ...Object.fromEntries(
    Object.keys(configReference)
      .filter((key) => key.startsWith('notify.'))
      .map((key) => [key, { minItems: 1 }]),
  ),
  'streams.<name>.sliceBy': { uniqueItems: true },
  'streams.<name>.key': { uniqueItems: true },
  'streams.<name>.pageSize': { maximum: Math.max(...known.map(({ limits }) => limits.maxPageSize)) },
  'streams.<name>.columns.<field>': { minProperties: 1, maxProperties: 1 },
  'streams.<name>.columns.<field>.type': { anyOf: listColumnTypes() },
};

/** JSON Schema of the config, for editors that complete and check YAML by one. */
export function writeEditorSchema(): Promise<string> {
  const plain = z.toJSONSchema(configSchema, { io: 'input', target: 'draft-7', unrepresentable: 'any' });
  const { $schema, ...config } = complete(plain as Node, []);
  const { streams, accounts, ...properties } = config.properties ?? {};
  const own = { ...properties, streams: { $ref: '#/properties/streams' } };
  const schema = {
    $schema,
    title: 'sluice.yaml',
    description: 'Config of Sluice: docs/configuration.md',
    ...config,
    properties: {
      ...properties,
      streams: nameBuiltIns(streams),
      accounts: { ...accounts, ...describeAccounts(own) },
    },
    definitions: {
      stream: streams?.additionalProperties,
      // Without a description: editors would show it next to that of each key.
      placeholder: { type: 'string', pattern: PLACEHOLDER },
    },
  };
  return Promise.resolve(`${JSON.stringify(schema, undefined, 2)}\n`);
}

/** An account may say any part of a config; nothing of it is required. */
function describeAccounts(own: NonNullable<Node['properties']>): Node {
  const { concurrency: _concurrency, source, destination, ...rest } = own;
  const { combined: _combined, ...places } = destination?.properties ?? {};
  const part = (node: Node): Node => ({ type: 'object', additionalProperties: false, ...node });
  const account = part({
    type: ['object', 'null'],
    properties: {
      source: part({ properties: source?.properties ?? {} }),
      destination: part({ properties: places }),
      ...rest,
    },
  });
  return {
    anyOf: [
      placeholder,
      { type: 'object', propertyNames: { pattern: ACCOUNT_NAME.source }, additionalProperties: account },
    ],
  };
}

/** A node and all below it, with what a config may hold beyond its zod schema, and with words. */
function complete(node: Node, path: readonly string[]): Node {
  const key = path.join('.');
  const found = opened({ ...mapParts(node, path), ...(Object.hasOwn(additions, key) && additions[key]) });
  const reference = Object.hasOwn(configReference, key) ? configReference[key] : undefined;
  return {
    ...found,
    ...(sections.includes(key) && { type: ['object', 'null'] }),
    ...(reference !== undefined && { description: toPlainText(reference.meaning) }),
  };
}

function mapParts(node: Node, path: readonly string[]): Node {
  const { properties, additionalProperties, items, anyOf } = node;
  const name = path.at(-1) === 'columns' ? '<field>' : '<name>';
  return {
    ...node,
    ...(properties && {
      properties: mapValues(properties, (child, key) => complete(child, [...path, key])),
    }),
    ...(typeof additionalProperties === 'object' && {
      additionalProperties: complete(additionalProperties, [...path, name]),
    }),
    ...(items && { items: opened(items) }),
    ...(anyOf && { anyOf: anyOf.map((part) => mapParts(part, path)) }),
  };
}

/** A value that may also be a placeholder for one. */
function opened(node: Node): Node {
  const parts = (node.anyOf ?? [node]).map(inWords);
  // What takes any text takes a placeholder, and none may stand for a map or a list.
  if (!parts.some(isNarrow) || parts.some(isText)) return node;
  return { ...(node.anyOf && node), anyOf: [...parts, placeholder] };
}

function inWords(node: Node): Node {
  const words = wordsOfPatterns[node.pattern ?? ''];
  return words === undefined ? node : { ...node, patternErrorMessage: words };
}

function isNarrow({ type, const: only, enum: choices }: Node): boolean {
  if (choices !== undefined || only !== undefined) return true;
  return typeof type === 'string' && type !== 'object' && type !== 'array';
}

function isText({ type, pattern, enum: choices, const: only }: Node): boolean {
  const isFree = pattern === undefined || pattern === String.raw`\S`;
  return type === 'string' && isFree && choices === undefined && only === undefined;
}

/** The streams of all connectors by name, so that editors offer them; any other one needs a path. */
function nameBuiltIns(streams: Node | undefined): Node {
  const stream = { $ref: '#/definitions/stream' };
  const builtIns = known.flatMap((connector) =>
    connector.streams.map(({ name, path, paginated }) => {
      const description = `Stream of ${connector.name}: ${path}, ${paginated ? 'in pages' : 'in one document'}`;
      return [name, { description, anyOf: [stream, { type: 'null' }] }] as const;
    }),
  );
  return {
    ...streams,
    properties: Object.fromEntries(builtIns),
    additionalProperties: { allOf: [stream], required: ['path'] },
  };
}

function listColumnTypes(): readonly Node[] {
  // Config takes them in any case and with spaces: `decimal(10, 2)`.
  const loose = (text: string) => [...text].map((char) => `[${char}${char.toLowerCase()}]`).join(' *');
  const plain = plainColumnTypes.map(loose).join('|');
  const decimal = String.raw`${loose('DECIMAL')} *\( *\d *\d? *, *\d *\d? *\)`;
  return [
    { type: 'string', enum: plainColumnTypes },
    { type: 'string', pattern: `^ *(?:${plain}|${decimal}) *$` },
  ];
}

function mapValues(
  record: Readonly<Record<string, Node>>,
  change: (value: Node, key: string) => Node,
): Readonly<Record<string, Node>> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]));
}

/** Editors show descriptions as they are: links become their words. */
function toPlainText(markdown: string): string {
  return markdown.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1').replaceAll('`', '');
}
