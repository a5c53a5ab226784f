import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { exampleOrders } from '../connectors/example-orders/connector.ts';
import { connectors } from '../../connectors/registry.ts';
import { listAccounts } from '../../src/config/accounts.ts';
import { readConfigFile } from '../../src/config/config-file.ts';
import { buildConfigTemplate } from '../../src/config/config-template.ts';
import { findEditorSchema } from '../../src/config/find-editor-schema.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { resolveSettings } from '../../src/config/resolve-settings.ts';
import { load, makeFolder, resolve, validEnv, writeConfig } from './support.ts';
import { countRuns } from '../support/seeds.ts';

const answers = { baseUrl: 'https://analytics.example.com/api/v1', duckdb: './warehouse.duckdb' };

const ofAccounts = {
  ...answers,
  duckdb: './accounts/${account}.duckdb',
  accounts: { names: ['acme', 'globex'], parquet: './lake/account=${account}' },
};

/** The settings of each account of a config, with a key file for it where the config looks for one. */
function loadAccounts(text: string) {
  const file = writeConfig(text);
  const folder = path.dirname(file);
  const { accounts = [] } = listAccounts(readConfigFile(file), validEnv) ?? {};
  mkdirSync(path.join(folder, 'keys'));
  return accounts.map((account) => {
    const { name } = account;
    writeFileSync(path.join(folder, 'keys', name), `key-of-${name}-0123456789\n`, { mode: 0o600 });
    const loaded = loadConfig({ path: file, env: validEnv, account });
    const nowMs = Date.parse('2026-01-01');
    return { name, folder, settings: resolveSettings({ loaded, connectors, env: validEnv, nowMs }) };
  });
}

describe('buildConfigTemplate', () => {
  it('loads as it is, without a warning', () => {
    const settings = resolve(buildConfigTemplate(answers));
    expect(settings.baseUrl.href).toBe(answers.baseUrl);
    expect(settings.warnings).toEqual([]);
  });

  it('loads with every comment in effect, and with the defaults it names', () => {
    const text = buildConfigTemplate(answers)
      .replace(/^# Sluice.*\n/, '')
      .replace(/^(\s*)# /gm, '$1');
    const { config } = load(text);
    expect(config.defaults).toEqual({
      lookback: 3 * 86_400_000,
      freshness: 3_600_000,
      fullRefreshEvery: 30 * 86_400_000,
      maxInvalidRatio: 0.05,
    });
    expect(config.source.quota).toEqual({ requestsPerHour: 600, burstPerSecond: 10, reserve: 0 });
    expect(Object.keys(config.streams ?? {})).toHaveLength(5);
    expect(resolve(text, { now: '2026-01-01' }).streams).toHaveLength(4);
  });

  it('is about another API where it is asked for', () => {
    const written = buildConfigTemplate({ ...answers, connector: exampleOrders });
    const { config } = load(written.replace(/^# Sluice.*\n/, '').replace(/^(\s*)# /gm, '$1'));
    expect(config.source.connector).toBe('example-orders');
    // 100 in a quarter of an hour.
    expect(config.source.quota).toEqual({ requestsPerHour: 400, burstPerSecond: 5, reserve: 0 });
    expect(Object.keys(config.streams ?? {})).toEqual(['orders', 'my_endpoint']);
    expect(written.split('\n')[0]).toContain('Example Orders API');
  });

  it('loads for each account as it is, without a warning', () => {
    const loaded = loadAccounts(buildConfigTemplate(ofAccounts));
    expect(loaded.map(({ name }) => name)).toEqual(['acme', 'globex']);
    for (const { name, folder, settings } of loaded) {
      expect(settings.warnings).toEqual([]);
      expect(settings).toMatchObject({
        credentials: { secret: `key-of-${name}-0123456789` },
        stateDir: path.join(folder, '.sluice', name),
        destinations: [
          { kind: 'duckdb', path: path.join(folder, `accounts/${name}.duckdb`) },
          { kind: 'parquet', path: path.join(folder, `lake/account=${name}`) },
        ],
      });
      expect(settings.streams).toHaveLength(4);
    }
  });

  it('loads with every comment in effect for accounts, and for what one says for itself', () => {
    const text = buildConfigTemplate(ofAccounts)
      .replace(/^# Sluice.*\n/, '')
      .replace(/^(\s*)# /gm, '$1');
    const loaded = loadAccounts(text);
    expect(loaded.map(({ name }) => name)).toEqual(['acme', 'globex', 'another-account']);
    const [acme, , another] = loaded.map(({ settings }) => settings.streams.map(({ name }) => name));
    expect(acme).toContain('visibility_mentions');
    expect(another).toEqual(acme?.filter((name) => name !== 'visibility_mentions'));
  });

  it('quotes names of accounts that YAML would read as something else', () => {
    const names = ['acme', '123', 'true', '1e3', 'null', '0x1f', 'a-b_c'];
    const text = buildConfigTemplate({ ...ofAccounts, accounts: { ...ofAccounts.accounts, names } });
    expect(Object.keys((parse(text) as { accounts: object }).accounts).toSorted()).toEqual(names.toSorted());
    expect(text).toContain(
      'parquet: ./lake/account=${account}      # all accounts together: ./lake/account=*/',
    );
  });

  it('names a stream of the API as the example of what an account may say for itself', () => {
    expect(buildConfigTemplate({ ...ofAccounts, connector: exampleOrders })).toContain(
      '  #   streams: { orders: { enabled: false } }\n',
    );
  });

  it('names the schema for editors in its first line, where there is one', () => {
    const text = buildConfigTemplate({
      ...answers,
      editorSchema: './node_modules/sluice/sluice.schema.json',
    });
    const [first, ...rest] = text.split('\n');
    expect(first).toBe('# yaml-language-server: $schema=./node_modules/sluice/sluice.schema.json');
    expect(rest.join('\n')).toBe(buildConfigTemplate(answers));
    expect(resolve(text).warnings).toEqual([]);
  });

  it('leaves a placeholder in an answer to be replaced', () => {
    const text = buildConfigTemplate({ ...answers, duckdb: '${DATA_DIR}/w.duckdb' });
    expect(load(text, { ...validEnv, DATA_DIR: '/data' }).config.destination.duckdb).toBe('/data/w.duckdb');
  });

  it('keeps any other answer as it was given', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1 }),
      fc.constantFrom(
        '~',
        'true',
        '1',
        'a: b',
        "it's",
        '"q"',
        '# x',
        'a #b',
        ' a',
        'a\nb',
        '-',
        '- a',
        'é 🚰',
      ),
    );
    fc.assert(
      fc.property(
        text.filter((value) => /\S/.test(value) && !value.includes('\0') && !value.includes('${')),
        (value) => {
          const { config } = load(buildConfigTemplate({ baseUrl: value, duckdb: value }));
          expect(config.source.baseUrl).toBe(value);
          expect(config.destination.duckdb).toBe(value);
        },
      ),
      { numRuns: countRuns(150) },
    );
  });
});

describe('findEditorSchema', () => {
  const installed = 'node_modules/sluice';

  it.each([
    ['installed beside the config', installed, '.', './node_modules/sluice/sluice.schema.json'],
    ['installed above', installed, 'jobs/daily', '../../node_modules/sluice/sluice.schema.json'],
    ['in a clone', '.', '.', './sluice.schema.json'],
    ['in a clone, from a folder of it', '.', 'sluice-demo', '../sluice.schema.json'],
    [
      'installed beside the config, in a clone',
      `sub/${installed}`,
      'sub',
      './node_modules/sluice/sluice.schema.json',
    ],
  ])('finds it %s', (_, place, config, way) => {
    const folder = makeFolder();
    mkdirSync(path.join(folder, place), { recursive: true });
    mkdirSync(path.join(folder, config), { recursive: true });
    writeFileSync(path.join(folder, place, 'sluice.schema.json'), '{}');
    expect(findEditorSchema(path.join(folder, config))).toBe(way);
  });

  it('finds none where Sluice is neither installed nor cloned', () => {
    expect(findEditorSchema(makeFolder())).toBeUndefined();
  });
});
