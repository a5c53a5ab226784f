import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { connectors } from '../../connectors/registry.ts';
import { buildConfigTemplate } from '../../src/config/config-template.ts';
import { listDefaults } from '../../src/config/list-defaults.ts';
import { listAccounts } from '../../src/config/accounts.ts';
import { readConfigFile } from '../../src/config/config-file.ts';
import { loadConfig, parseConfig } from '../../src/config/load-config.ts';
import { resolveOfflineSettings, resolveSettings } from '../../src/config/resolve-settings.ts';
import type { ConfigInput } from '../../src/model/config.ts';
import { ConfigError } from '../../src/model/errors.ts';
import { listConfigKeys } from '../../tools/list-config-keys.ts';
import { listBlocks, listCode, listMarkdown, listTableRows, readSection } from './markdown.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'sluice-docs-'));
afterAll(() => rmSync(folder, { recursive: true }));

const sections = [
  '## `source`',
  '## `destination`, `engine`, `stateDir` and `audit`',
  '## `accounts`, `concurrency` and `fleet`',
  '## `defaults`',
  '## `retention`',
  '## `notify`',
  '## `streams`',
];
const rows = sections
  .flatMap((heading) => listTableRows(readSection('docs/configuration.md', heading)))
  .map(([key = '', type = '', fallback = '']) => ({ key: listCode(key)[0] ?? '', type, fallback }));
const minimal = {
  source: { connector: 'analytics-read', baseUrl: 'https://analytics.example.com/api/v1' },
  destination: { duckdb: './warehouse.duckdb' },
} satisfies ConfigInput;

describe('docs/configuration.md', () => {
  it('has a row for every key', () => {
    const sectionNames = [
      ...['source', 'destination', 'defaults', 'retention', 'notify', 'streams', 'streams.<name>'],
      'streams.<name>.columns.<field>',
      ...[
        'destination.ducklake',
        'destination.iceberg',
        'destination.iceberg.oauth2',
        'destination.postgres',
        'destination.motherduck',
        'destination.s3',
        'engine',
      ],
    ];
    const keys = listConfigKeys().filter((key) => !sectionNames.includes(key));
    expect(rows.map(({ key }) => key).toSorted()).toEqual(keys.toSorted());
  });

  it('gives the defaults that are in effect', () => {
    const loaded = parseConfig(minimal);
    const settings = resolveOfflineSettings({ loaded, connectors, env: {}, nowMs: 0 });
    const machine = ['source.quota.ledgerDir', 'stateDir'];
    const wrong = listDefaults(settings)
      .map(({ key, value }) => ({ key: key.replace(/^streams\.[^.]+/, 'streams.<name>'), value }))
      .filter(({ key, value }) => {
        const fallback = rows.find((row) => row.key === key)?.fallback ?? '';
        const saysWhose = machine.includes(key) || fallback.startsWith("the connector's");
        return !saysWhose && !listCode(fallback).includes(String(value));
      });
    expect(wrong).toEqual([]);
    expect(rows.find(({ key }) => key === 'stateDir')?.fallback).toBe('`./.sluice`');
  });

  it.each([
    ['contract', ['evolve', 'freeze', 'discard_row', 'discard_value']],
    ['deletes', ['keep', 'soft', 'hard']],
  ])('is right about the values of %s', (name, values) => {
    for (const place of [['defaults'], ['streams', 'visibility_mentions']]) {
      expect(listCode(rows.find(({ key }) => key === `defaults.${name}`)?.type ?? '')).toEqual(values);
      for (const value of values) {
        const { config } = parseConfig(setAt(minimal, [...place, name], value));
        expect(place.reduce<unknown>((part, step) => (part as never)[step], config)).toHaveProperty(
          name,
          value,
        );
      }
      expect(() => parseConfig(setAt(minimal, [...place, name], 'other'))).toThrow(ConfigError);
    }
  });
});

describe('YAML in the docs', () => {
  const blocks = listMarkdown().flatMap((file) => listBlocks(file, 'yaml'));

  it('is there', () => {
    expect(blocks.length).toBeGreaterThan(3);
  });

  it.each(blocks.map((block) => [`${block.file}:${block.line}`, block.text]))(
    '%s is a valid config',
    (_, text) => {
      const complete = text.startsWith('source:') ? text : `${toYaml()}${text}`;
      // The only path of another machine that an example may name is where containers keep secrets.
      const local = complete.replaceAll('/run/secrets/', './');
      const file = path.join(folder, 'sluice.yaml');
      writeFileSync(path.join(folder, 'analytics_api_key'), 'example-key-0123456789\n', { mode: 0o600 });
      writeFileSync(file, local);
      const env = {
        ANALYTICS_API_KEY: 'example-key-0123456789',
        CATALOG_URL: 'postgres://sluice:example@db.example.com/lake',
        WAREHOUSE_URL: 'postgres://sluice:example@db.example.com/warehouse',
        CATALOG_TOKEN: 'example',
        MOTHERDUCK_TOKEN: 'example',
        SLUICE_HASH_KEY: 'example-hash-key-0123456789',
        HOME: folder,
      };
      const { accounts = [undefined] } = listAccounts(readConfigFile(file), env) ?? {};
      for (const account of accounts) {
        if (account !== undefined) writeKey(account.name);
        const loaded = loadConfig({ path: file, env, account });
        expect(resolveSettings({ loaded, connectors, env, nowMs: 0 }).warnings).toEqual([]);
      }
    },
  );
});

/** Where examples of several accounts have their keys. */
function writeKey(account: string): void {
  for (const place of ['sluice', 'keys']) {
    mkdirSync(path.join(folder, place), { recursive: true });
    writeFileSync(path.join(folder, place, account), 'example-key-0123456789\n', { mode: 0o600 });
  }
}

function setAt(value: unknown, [key, ...rest]: readonly string[], leaf: unknown): unknown {
  if (key === undefined) return leaf;
  const record = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  return { ...record, [key]: setAt(record[key], rest, leaf) };
}

function toYaml(): string {
  const template = buildConfigTemplate({
    baseUrl: minimal.source.baseUrl,
    duckdb: minimal.destination.duckdb,
  });
  return template
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .join('\n')
    .concat('\n');
}
