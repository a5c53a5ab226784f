import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { connectors } from '../../connectors/registry.ts';
import { explainConfig } from '../../src/config/explain-config.ts';
import { loadConfig, type LoadedConfig } from '../../src/config/load-config.ts';
import { resolveOfflineSettings, type SettingsOverrides } from '../../src/config/resolve-settings.ts';
import { configText, load, validEnv, writeConfig } from './support.ts';

function explain(loaded: LoadedConfig, overrides: SettingsOverrides = {}) {
  const settings = resolveOfflineSettings({ loaded, connectors, env: validEnv, nowMs: 0, overrides });
  const entries = explainConfig(loaded, settings, overrides).map(
    ({ key, value, origin, detail }) =>
      [key, [value, origin, path.isAbsolute(detail) ? path.basename(detail) : detail]] as const,
  );
  expect(new Set(entries.map(([key]) => key)).size).toBe(entries.length);
  return Object.fromEntries(entries);
}

describe('explainConfig', () => {
  it('names the line, variable, file, connector or default that each value came from', () => {
    const config = writeConfig(
      configText(
        'defaults:\n  lookback: ${LOOKBACK:-5d}\n  freshness: ${FRESH}\nstreams:\n  mine: { path: "${file:path.txt}", params: { list: [a, "${FRESH}"] } }\n',
      ),
    );
    writeFileSync(path.join(path.dirname(config), 'path.txt'), 'some/path\n');
    const entries = explain(loadConfig({ path: config, env: { ...validEnv, FRESH: '2h' } }));
    expect(entries).toMatchObject({
      'source.baseUrl': ['https://analytics.example.com/api/v1', 'config', 'sluice.yaml:3'],
      'source.apiKey': ['***', 'environment', 'ANALYTICS_API_KEY'],
      'source.quota.requestsPerHour': [600, 'connector', 'until a response shows the limit'],
      'source.quota.burstPerSecond': [10, 'connector', ''],
      'source.quota.reserve': [0, 'default', ''],
      'source.quota.ledgerDir': [`${validEnv.HOME}/.local/state/sluice/quota`, 'default', ''],
      'defaults.lookback': ['5d', 'config', 'sluice.yaml:8'],
      'defaults.freshness': ['2h', 'environment', 'FRESH'],
      'defaults.fullRefreshEvery': ['30d', 'default', ''],
      'retention.quarantine': ['90d', 'default', ''],
      'streams.mine.path': ['some/path', 'file', 'path.txt'],
      'streams.mine.params.list[0]': ['a', 'config', 'sluice.yaml:11'],
      'streams.mine.params.list[1]': ['2h', 'environment', 'FRESH'],
      'streams.mine.paginated': [false, 'default', ''],
      'streams.prompts_analytics.path': ['prompts/analytics', 'connector', ''],
      'streams.prompts_analytics.cursor': ['auto', 'default', ''],
    });
    expect(Object.keys(entries)[0]).toBe('source.connector');
  });

  it('shows given parts of a setting instead of its default', () => {
    const entries = explain(
      load(configText('streams: { prompts_analytics: { key: [id], cursor: { field: d } } }\ndefaults:\n')),
    );
    expect(entries).toMatchObject({
      'streams.prompts_analytics.key[0]': ['id', 'config', expect.anything()],
      'streams.prompts_analytics.cursor.field': ['d', 'config', expect.anything()],
    });
    expect(entries).not.toHaveProperty(['streams.prompts_analytics.key']);
    expect(entries).not.toHaveProperty(['streams.prompts_analytics.cursor']);
    expect(entries).not.toHaveProperty('defaults');
  });

  it('lets the command line win', () => {
    expect(explain(load(configText()), { duckdb: '/x.duckdb', stateDir: '/s' })).toMatchObject({
      'destination.duckdb': ['/x.duckdb', 'flag', ''],
      stateDir: ['/s', 'flag', ''],
    });
  });

  it('shows no character of a secret, wherever it stands', () => {
    const key = 'zqx-9876';
    const entries = explain(
      load(
        configText(
          'stateDir: "./${ANALYTICS_API_KEY}"\nstreams: { mine: { path: a, params: { access_token: tok, copy: "x${ANALYTICS_API_KEY}y" } } }\n',
        ),
        { ANALYTICS_API_KEY: `${key}\n` },
      ),
    );
    expect(entries['source.apiKey']?.[0]).toBe('***');
    expect(entries['stateDir']?.[0]).toBe('***');
    expect(entries['streams.mine.params.access_token']?.[0]).toBe('***');
    expect(entries['streams.mine.params.copy']?.[0]).toBe('***');
    expect(JSON.stringify(entries)).not.toContain(key);
  });

  it('shows no character of a secret in a default that follows from where it stands', () => {
    const loaded = load(configText('stateDir: "./${ANALYTICS_API_KEY}"\n'));
    // Without a home folder, the ledger is in the state folder.
    const settings = resolveOfflineSettings({ loaded, connectors, env: {}, nowMs: 0, platform: 'linux' });
    expect(settings.ledgerDir).toContain(validEnv.ANALYTICS_API_KEY);
    const entries = explainConfig(loaded, settings);
    expect(entries.find(({ key }) => key === 'source.quota.ledgerDir')?.value).toBe('***');
  });

  it('says which variable is not set when the key is not needed', () => {
    expect(explain(load(configText(), {}, 'optional'))['source.apiKey']).toEqual([
      null,
      'environment',
      'ANALYTICS_API_KEY',
    ]);
  });
});
