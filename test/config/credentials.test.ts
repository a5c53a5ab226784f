import { chmodSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { connectors } from '../../connectors/registry.ts';
import { findCredentialWarnings, readCredentials } from '../../src/config/credentials.ts';
import { loadConfig, parseConfig } from '../../src/config/load-config.ts';
import { catchConfigError, configText, load, writeConfig } from './support.ts';

const connector = connectors['analytics-read'];

function readKey(key: string) {
  return readCredentials(load(configText(), { ANALYTICS_API_KEY: key }), connector);
}

describe('readCredentials', () => {
  it.each(['sk-live_0.1~x=+/', 'k', 'eyJhbGciOi.J9.abc-_'])('takes %j as it is', (key) => {
    expect(readKey(key)).toEqual({ kind: 'api-key', secret: key });
  });

  it.each(['secret\n', 'secret\r\n'])('trims the newline at the end of %j', (key) => {
    expect(readKey(key).secret).toBe('secret');
  });

  it.each([
    ['', 'key_missing', 'is missing or empty'],
    ['   ', 'key_missing', 'contains only white space'],
    ['\n', 'key_missing', 'is missing or empty'],
    ['\n\n', 'key_missing', 'contains only white space'],
    [' SECRET', 'config_invalid', 'contains white space'],
    ['SECRET ', 'config_invalid', 'contains white space'],
    ['SEC RET', 'config_invalid', 'contains white space'],
    ['SEC\tRET', 'config_invalid', 'contains white space'],
    ['SEC\u00a0RET', 'config_invalid', 'contains white space'],
    ['SEC\nRET', 'config_invalid', 'contains a line break'],
    ['SECRET\n\n', 'config_invalid', 'contains a line break'],
    ['SEC\r\nRET', 'config_invalid', 'contains a line break'],
    ['SECRET\r', 'config_invalid', 'contains a carriage return'],
    ['"SECRET"', 'config_invalid', 'contains quotes'],
    ["'SECRET'", 'config_invalid', 'contains quotes'],
    ['“SECRET”', 'config_invalid', 'not plain ASCII'],
    ['SECRÉT', 'config_invalid', 'not plain ASCII'],
    ['SEC\u0000RET', 'config_invalid', 'not plain ASCII'],
    ['SEC\u007fRET', 'config_invalid', 'not plain ASCII'],
    ['\uFEFFSECRET', 'config_invalid', 'byte order mark'],
    ['${SECRET}', 'config_invalid', 'is the name of a variable'],
    ['$SECRET', 'config_invalid', 'is the name of a variable'],
  ])('refuses %j and shows none of it', (key, code, message) => {
    const error = catchConfigError(() => readKey(key));
    expect(error).toMatchObject({ code, exitCode: 2 });
    expect(error.message).toContain(message);
    // The random name of the folder may have these letters.
    const said = (error.message + error.hint + JSON.stringify(error)).replaceAll(/sluice-config-\w+/g, '');
    expect(said).not.toMatch(/SEC|RET/);
  });

  it('says how to write a variable that was written without braces', () => {
    const text = configText().replace('${ANALYTICS_API_KEY}', '$ANALYTICS_API_KEY');
    const error = catchConfigError(() => readCredentials(load(text), connector));
    expect(error.message).toContain('is the name of a variable');
    expect(error.hint).toContain('source.apiKey: ${ANALYTICS_API_KEY}');
  });

  it.each([' ', '\n\n'])('names the variable of the config where it is %j', (key) => {
    const text = configText().replace('${ANALYTICS_API_KEY}', '${OTHER_KEY}');
    const error = catchConfigError(() => readCredentials(load(text, { OTHER_KEY: key }), connector));
    expect(error.hint).toContain('export OTHER_KEY=…');
  });

  it('wants a key, and says where keys are made', () => {
    const text = configText().replace(/ {2}apiKey.*\n/, '');
    const error = catchConfigError(() => readCredentials(load(text), connector));
    expect(error.code).toBe('key_missing');
    expect(error.hint).toContain('Settings > API Keys');
    expect(error.hint).toContain('${ANALYTICS_API_KEY}');
  });

  it('takes a bearer token instead of a key, and never both', () => {
    const both = load(configText('', '  bearerToken: ${T}\n'), { ANALYTICS_API_KEY: 'a', T: 'b' });
    expect(catchConfigError(() => readCredentials(both, connector)).message).toContain('keep exactly one');
    const one = load(configText().replace('apiKey: ${ANALYTICS_API_KEY}', 'bearerToken: ${T}'), { T: 'b' });
    expect(readCredentials(one, connector)).toEqual({ kind: 'bearer', secret: 'b' });
  });
});

describe('findCredentialWarnings', () => {
  it.each(['sk-literal', '"${UNSET:-sk-literal}"'])('advises against %s in the file', (text) => {
    const [warning, ...others] = findCredentialWarnings(
      load(configText().replace('${ANALYTICS_API_KEY}', text)),
      'linux',
    );
    expect(warning).toContain('${ANALYTICS_API_KEY}');
    expect(warning).not.toContain('literal');
    expect(others).toEqual([]);
  });

  it('is silent about a key from the environment, and about an object of the library', () => {
    expect(findCredentialWarnings(load(configText()), 'linux')).toEqual([]);
    const source = { connector: 'analytics-read', baseUrl: 'https://a.b/v1', apiKey: 'k' };
    const loaded = parseConfig({ source, destination: { duckdb: 'w.duckdb' } });
    expect(findCredentialWarnings(loaded, 'linux')).toEqual([]);
  });

  it.each([
    [0o600, 'linux', 0],
    [0o400, 'darwin', 0],
    [0o640, 'linux', 1],
    [0o644, 'linux', 1],
    [0o644, 'win32', 0],
  ] as const)('judges a key file of mode %o on %s', (mode, platform, count) => {
    const config = writeConfig(configText().replace('${ANALYTICS_API_KEY}', '${file:key}'));
    const key = path.join(path.dirname(config), 'key');
    writeFileSync(key, 'secret\n');
    chmodSync(key, mode);
    const warnings = findCredentialWarnings(loadConfig({ path: config, env: {} }), platform);
    expect(warnings).toHaveLength(count);
    if (count === 1) expect(warnings[0]).toMatch(/key can be read by others \(mode 0\d{3}\); run chmod 600/);
  });

  it.each([
    ['/run/secrets/analytics_api_key', 0o444],
    ['/run/credentials/sluice.service/analytics_api_key', 0o440],
  ])('expects the mode that container runtimes and systemd give %s', (path, mode) => {
    const loaded = load(configText());
    const leaves = [
      { path: ['source', 'apiKey'], value: 'x', placeholders: [{ kind: 'file' as const, path, mode }] },
    ];
    expect(findCredentialWarnings({ ...loaded, leaves }, 'linux')).toEqual([]);
  });
});
