import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { connectors } from '../../connectors/registry.ts';
import { buildConfigTemplate } from '../../src/config/config-template.ts';
import { ConfigError } from '../../src/model/errors.ts';
import { resolve, validEnv, writeConfig } from '../config/support.ts';
import { listBlocks, listMarkdown, readText, root } from './markdown.ts';
import { countRuns } from '../support/seeds.ts';

// The schema checks dates by pattern as well; the added keyword is the words that editors show.
const ajv = new Ajv({
  allErrors: true,
  formats: { date: true },
  keywords: ['patternErrorMessage'],
  strictTypes: false,
});
const validate = ajv.compile(JSON.parse(readText('sluice.schema.json')) as object);

const source = {
  connector: 'analytics-read',
  baseUrl: 'https://analytics.example.com/api/v1',
  apiKey: '${ANALYTICS_API_KEY}',
};
const minimal = { source, destination: { duckdb: './warehouse.duckdb' } };
const template = buildConfigTemplate({
  baseUrl: source.baseUrl,
  duckdb: minimal.destination.duckdb,
});

describe('the schema for editors takes', () => {
  const blocks = listMarkdown()
    .flatMap((file) => listBlocks(file, 'yaml'))
    .map(({ file, line, text }) => [`${file}:${line}`, text] as const);
  const files = globSync(['docker/**/sluice.yaml', 'docker/config/*.yaml'], { cwd: root })
    .map((file) => file.replaceAll(path.sep, '/'))
    .map((file) => [file, readText(file)] as const);

  it.each<readonly [string, string]>([
    ...blocks,
    ...files,
    ['what `sluice init` writes', template],
    ['the same with every line in effect', template.replace(/^# Sluice.*\n/, '').replace(/^(\s*)# /gm, '$1')],
  ])('%s', (_, text) => {
    const value = parse(text) as object;
    expect(listErrors('source' in value ? value : { ...minimal, ...value })).toEqual([]);
  });

  it.each([
    'source.quota.reserve = "${RESERVE:-5}"',
    'source.quota.reserve = "1${DIGIT:-0}"',
    'source.connector = "${CONNECTOR:-analytics-read}"',
    'source.arrayParams = "${A:-repeat}"',
    'source.keyExpiresAt = "${EXPIRES:-2027-06-30}"',
    'source.quota = null',
    'defaults = null',
    'defaults.hashKey = "${TEXT}"',
    'defaults.history = "${H:-false}"',
    'defaults.deletes = "${D:-keep}"',
    'defaults.lookback = "${DAYS:-3}d"',
    'defaults.lookback = " 1.5d "',
    'defaults.freshness = 0',
    'defaults.contract = "${MODE:-freeze}"',
    'defaults.contract.types = "${MODE:-freeze}"',
    'notify.onFailure = "${HOOK:-}"',
    'streams.visibility_mentions = null',
    'streams.visibility_mentions.cursor = "${C:-auto}"',
    'streams.visibility_mentions.cursor = false',
    'streams.visibility_mentions.cursor = "${C:-false}"',
    'streams.visibility_mentions.columns.note.exclude = "${X:-true}"',
    'streams.visibility_mentions.key = ["${FIELD:-id}"]',
    'streams.visibility_mentions.pageSize = "${SIZE:-50}"',
    'streams.visibility_mentions.partitionBy = ["${BY:-day}(date)", " country "]',
    'streams.visibility_mentions.columns.id.type = "decimal( 10,2)"',
    'streams.visibility_mentions.columns.id.type = "${TYPE:-JSON}"',
    'streams.own = {"path": "own", "maxDeleteRatio": "${RATIO:-0.5}"}',
  ])('%s, as a sync does', (change) => {
    const config = changed(change);
    expect(isLoaded(config)).toBe(true);
    expect(listErrors(config)).toEqual([]);
  });

  it('a file in the place of a value', () => {
    const config = setAt(
      minimal,
      ['source', 'keyExpiresAt'],
      `\${file:${writeConfig('2027-06-30\n', 'day.txt')}}`,
    );
    expect(isLoaded(config)).toBe(true);
    expect(listErrors(config)).toEqual([]);
  });
});

describe('the schema for editors refuses', () => {
  it.each([
    'source.apiKey = undefined',
    'source.apiKey = 12345',
    'source.bearerToken = "both"',
    'source.connector = undefined',
    'source.connector = "nope"',
    'source.baseUrl = "analytics.example.com/api/v1"',
    'source.baseUrl = "ftp://analytics.example.com/api/v1"',
    'source.arrayParams = "commas"',
    'source.keyExpiresAt = "30.06.2027"',
    'source.keyExpiresAt = "2027-02-30"',
    'source.quota.reserve = "5"',
    'source.quota.reserve = "$RESERVE"',
    'source.quota.reserve = "$${RESERVE}"',
    'source.quota.reserve = "${1}"',
    'source.quota.reserve = "${RESERVE"',
    'source.quota.reserve = "${RESERVE-5}"',
    'source.quota.reserve = 0.5',
    'source.quota.requestsPerHour = 0',
    'source.quotas = {}',
    'destination = {}',
    'destination = null',
    'destination = undefined',
    'destination.duckdb = " "',
    'stateDir = null',
    'apiKey = "key-0123456789"',
    'defaults = "${DEFAULTS}"',
    'defaults.lookback = "three"',
    'defaults.lookback = "3"',
    'defaults.lookback = 3',
    'defaults.lookback = "3 d"',
    'defaults.lookback = "3days"',
    'defaults.history = "yes"',
    'defaults.deletes = "never"',
    'defaults.contract.rows = "freeze"',
    'defaults.maxDeleteRatio = 20',
    'defaults.hashKey = "short"',
    'defaults.hashKey = "$SLUICE_HASH_KEY"',
    'retention.runs = "a year"',
    'notify.onFailure = []',
    'notify.onFailures = "./tell.sh"',
    'streams.My-Endpoint = {"path": "own"}',
    'streams.own = {}',
    'streams.own = null',
    'streams.prompt_analytics = {"enabled": false}',
    'streams.visibility_mentions.cursr = "auto"',
    'streams.visibility_mentions.enabled = "false"',
    'streams.visibility_mentions.path = "https://analytics.example.com/x"',
    'streams.visibility_mentions.params = {"limits": {}}',
    'streams.visibility_mentions.key = "id"',
    'streams.visibility_mentions.key = []',
    'streams.visibility_mentions.key = ["id", "id"]',
    'streams.visibility_mentions.cursor = {"param": "startDate"}',
    'streams.visibility_mentions.cursor = {"field": "date", "lookback": "soon"}',
    'streams.visibility_mentions.partitionBy = ["week(date)"]',
    'streams.visibility_mentions.pageSize = 1',
    'streams.visibility_mentions.pageSize = 1000000',
    'streams.visibility_mentions.columns.id = {}',
    'streams.visibility_mentions.columns.id = {"type": "JSON", "hash": true}',
    'streams.visibility_mentions.columns.id.type = "INTEGER"',
    'streams.visibility_mentions.columns.id.type = "DECIMAL(123,2)"',
    'streams.visibility_mentions.columns.id.exclude = false',
  ])('%s, as a sync does', (change) => {
    const config = changed(change);
    expect(isLoaded(config)).toBe(false);
    expect(listErrors(config)).not.toEqual([]);
  });
});

describe('the schema for editors', () => {
  it('agrees with a sync, whatever value is changed', () => {
    const configs: readonly unknown[] = [
      parse(template.replace(/^# Sluice.*\n/, '').replace(/^(\s*)# /gm, '$1')),
    ];
    const full = { ...everything, ...minimal, source: { ...source, ...everything.source } };
    const paths = [...configs, full].flatMap((config) =>
      listPaths(config).map((where) => ({ config, where })),
    );
    fc.assert(
      fc.property(fc.constantFrom(...paths), fc.constantFrom(...values), ({ config, where }, value) => {
        const other = setAt(config, where, value);
        const errors = listErrors(other);
        const loads = isLoaded(other);
        if (loads) expect(errors).toEqual([]);
        // What a variable holds is for the sync to see.
        else if (!JSON.stringify(value).includes('${') && !unseen.test(where.join('.')))
          expect(errors).not.toEqual([]);
      }),
      { numRuns: countRuns(150) },
    );
  });

  it('offers the connectors, their streams and the types of columns', () => {
    const schema = JSON.parse(readFileSync(path.join(root, 'sluice.schema.json'), 'utf8')) as Schema;
    const names = Object.values(connectors).flatMap(({ streams }) => streams.map(({ name }) => name));
    expect(Object.keys(schema.properties.streams.properties)).toEqual(names);
    expect(schema.properties.source.properties.connector.anyOf[0].enum).toEqual(Object.keys(connectors));
  });
});

interface Schema {
  readonly properties: {
    readonly source: {
      readonly properties: { readonly connector: { readonly anyOf: [{ readonly enum: unknown }] } };
    };
    readonly streams: { readonly properties: object };
  };
}

/** A value at every place that the template leaves out. */
const everything = {
  source: { arrayParams: 'repeat', keyExpiresAt: '2027-06-30', quota: { reserve: 1, ledgerDir: './quota' } },
  defaults: {
    contract: { columns: 'freeze', types: 'evolve' },
    deletes: 'soft',
    history: true,
    skipUnchanged: false,
    maxDeleteRatio: 0.5,
    hashKey: 'a-hash-key-of-some-length',
  },
  retention: { archive: '1d', history: '2w', lake: '2h', quarantine: '3d', runs: '400d' },
  streams: {
    commerce_top_products: {
      path: 'commerce/top',
      records: '/data',
      params: { topics: ['a', 1] },
      sliceBy: ['topics'],
      key: ['id', 'date'],
      cursor: { field: 'date', param: 'since', lookback: '5d' },
      write: 'append',
      contract: 'freeze',
      columns: { price: { type: 'DECIMAL(10,2)' }, email: { hash: true }, note: { exclude: true } },
      partitionBy: ['country', 'month(date)'],
      pageSize: 20,
    },
  },
};

/**
 * Where a sync refuses more: a lookback below a day, `..` in a path, files that are addresses, a hash without its
 * key, slices that params do not list, a program without a name, a key that no header can carry.
 */
const unseen =
  /lookback$|path$|^destination\.|^defaults$|\.(?:params|sliceBy)\b|^notify\.\w+\.0$|^source\.apiKey$/;

const values: readonly unknown[] = [
  ...[0, 1, 2, 50, 0.5, -1, true, false, null, '', ' ', 'x', 'auto', 'keep', 'freeze', 'evolve', 'append'],
  ...['0', '3d', ' 36h', 'month(date)', 'varchar', '2027-01-01', '/data', './elsewhere', 'https://a.test/v1'],
  ...['${NUMBER}', '${TRUE}', '${TEXT}', '${MISSING}', '${MISSING:-3d}', '${MISSING:-keep}', '${NUMBER}h'],
  ...['${MISSING:-hard}', '${MISSING:-0.1}', '$${NUMBER}', '${file:missing}', '${MISSING:-2027-01-01}'],
  ...[
    [],
    ['x'],
    ['x', 'x'],
    ['topics'],
    {},
    { field: 'date' },
    { path: 'p' },
    { hash: true },
    { types: 'freeze' },
  ],
];
const env = { ...validEnv, NUMBER: '12', TRUE: 'true', TEXT: 'some text that is long enough' };

function listErrors(config: unknown): readonly string[] {
  if (validate(config)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message ?? ''}`);
}

/** Whether a sync would begin with this config. */
function isLoaded(config: unknown): boolean {
  try {
    resolve(stringify(config), { env });
    return true;
  } catch (error) {
    if (error instanceof ConfigError) return false;
    throw error;
  }
}

/** The minimal config with one change, written `path = JSON`. */
function changed(change: string): unknown {
  const [where = '', json = ''] = change.split(/ = (.*)/);
  return setAt(minimal, where.split('.'), json === 'undefined' ? undefined : JSON.parse(json));
}

function setAt(value: unknown, [key, ...rest]: readonly (string | number)[], leaf: unknown): unknown {
  if (key === undefined) return leaf;
  if (Array.isArray(value))
    return value.map((item, at) => (at === key ? setAt(item, rest, leaf) : (item as unknown)));
  const record = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  const { [key]: child, ...others } = record;
  return rest.length === 0 && leaf === undefined ? others : { ...record, [key]: setAt(child, rest, leaf) };
}

function listPaths(value: unknown): readonly (readonly (string | number)[])[] {
  if (typeof value !== 'object' || value === null) return [];
  const entries: readonly (readonly [string | number, unknown])[] = Array.isArray(value)
    ? value.map((item, at) => [at, item as unknown])
    : Object.entries(value);
  return entries.flatMap(([key, child]) => [[key], ...listPaths(child).map((below) => [key, ...below])]);
}
