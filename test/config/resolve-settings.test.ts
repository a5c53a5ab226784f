import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { connectors } from '../../connectors/registry.ts';
import { findLedgerDir } from '../../src/config/ledger-dir.ts';
import { loadConfig, parseConfig } from '../../src/config/load-config.ts';
import { resolveOfflineSettings, resolveSettings } from '../../src/config/resolve-settings.ts';
import { catchConfigError, configText, load, makeFolder, problemsOf, resolve, validEnv } from './support.ts';

function resolveUrl(url: string) {
  return resolve(configText().replace('https://analytics.example.com/api/v1', JSON.stringify(url)));
}

describe('base URL', () => {
  it.each([
    ['https://a.example.com/api/v1', 'https://a.example.com/api/v1'],
    ['https://a.example.com/api/v1/', 'https://a.example.com/api/v1'],
    ['https://a.example.com/api/v1///', 'https://a.example.com/api/v1'],
    ['HTTPS://A.example.com:443/v1', 'https://a.example.com/v1'],
    ['http://localhost:8080/v1', 'http://localhost:8080/v1'],
    ['http://127.0.0.1:8080/v1', 'http://127.0.0.1:8080/v1'],
    ['http://127.8.9.10/v1', 'http://127.8.9.10/v1'],
    ['http://[::1]:8080/v1', 'http://[::1]:8080/v1'],
  ])('%s becomes %s', (url, href) => {
    expect(resolveUrl(url).baseUrl.href).toBe(href);
    expect(resolveUrl(url).warnings).toEqual([]);
  });

  it.each([
    ['http://a.example.com/v1', 'would send the key unencrypted'],
    ['http://127.0.0.1.example.com/v1', 'would send the key unencrypted'],
    ['http://localhost.example.com/v1', 'would send the key unencrypted'],
    ['http://0.0.0.0/v1', 'would send the key unencrypted'],
    ['http://[::]/v1', 'would send the key unencrypted'],
    ['ftp://a.example.com/v1', 'must start with https://'],
    ['localhost:8080/v1', 'must start with https://'],
    ['a.example.com/v1', 'must be a complete URL'],
    ['/api/v1', 'must be a complete URL'],
    ['https://', 'must be a complete URL'],
    ['http://127.0.0.1:99999/api/v1', 'must have a port from 1 to 65535 after the colon'],
    ['https://[::1]:70000', 'must have a port from 1 to 65535 after the colon'],
    ['https://a.example.com:http/v1', 'must have a port from 1 to 65535 after the colon'],
    ['https://user:pa55@a.example.com/v1', 'must not contain a user name or password'],
    ['https://pa55@a.example.com/v1', 'must not contain a user name or password'],
    ['https://:pa55@a.example.com/v1', 'must not contain a user name or password'],
    ['http://user:pa55@bad host/v1', 'must be a complete URL'],
    ['https://a.example.com/v1?x=1', 'must not hold a query'],
    ['https://a.example.com/v1?', 'must not hold a query'],
    ['https://a.example.com/v1#', 'must not hold a query'],
  ])('refuses %s and shows none of it', (url, message) => {
    const error = catchConfigError(() => resolveUrl(url));
    expect(error).toMatchObject({ code: 'config_invalid', exitCode: 2 });
    expect(error.message).toMatch(/sluice\.yaml:3:3 source\.baseUrl: /);
    expect(error.message).toContain(message);
    expect(error.message).not.toContain('pa55');
  });

  it.each([
    ['https://a.example.com/api', 'https://a.example.com/api/v1'],
    ['https://a.example.com', 'https://a.example.com/api/v1'],
    ['http://127.0.0.1:4710', 'http://127.0.0.1:4710/api/v1'],
    ['https://a.example.com/api/v1/prompts/analytics', 'https://a.example.com/api/v1'],
    ['https://a.example.com/v2', 'https://a.example.com/v1'],
    ['https://a.example.com/data/v2', 'https://a.example.com/data/v1'],
  ])('warns about %s and suggests %s', (url, suggested) => {
    expect(resolveUrl(url).warnings).toEqual([
      `source.baseUrl does not end in the version segment v1; did you mean ${suggested}?`,
    ]);
  });
});

describe('connector', () => {
  it('is looked up by name, with the nearest suggested', () => {
    const text = configText().replace('analytics-read', 'analytics_reed');
    expect(problemsOf(() => resolve(text))).toEqual([
      'sluice.yaml:2:3 source.connector: unknown connector "analytics_reed"; did you mean "analytics-read"?',
    ]);
    expect(catchConfigError(() => resolve(configText().replace('analytics-read', 'constructor'))).hint).toBe(
      `Connectors: ${Object.keys(connectors).join(', ')}.`,
    );
  });
});

describe('environment', () => {
  it('refuses to send the key to a server whose certificate nobody checked', () => {
    const env = { ...validEnv, NODE_TLS_REJECT_UNAUTHORIZED: '0' };
    const error = catchConfigError(() => resolve(configText(), { env }));
    expect(error).toMatchObject({ code: 'config_invalid', exitCode: 2 });
    expect(error.hint).toContain('NODE_EXTRA_CA_CERTS');
    expect(resolve(configText(), { env: { ...env, NODE_TLS_REJECT_UNAUTHORIZED: '1' } }).warnings).toEqual(
      [],
    );
  });
});

describe('quota', () => {
  it('takes documented limits until told otherwise, and ceilings above them', () => {
    expect(resolve(configText()).quotaLimits).toEqual({
      ceilingPerWindow: undefined,
      windowMs: 3_600_000,
      defaultPerWindow: 600,
      burstPerSecond: 10,
      reserve: 0,
    });
    const quota = '  quota: { requestsPerHour: 5000, burstPerSecond: 50, reserve: 100 }\n';
    expect(resolve(configText('', quota)).quotaLimits).toEqual({
      ceilingPerWindow: 5000,
      windowMs: 3_600_000,
      defaultPerWindow: 600,
      burstPerSecond: 50,
      reserve: 100,
    });
  });

  it('refuses a reserve that leaves nothing to send', () => {
    const quota = '  quota: { requestsPerHour: 100, reserve: 100 }\n';
    expect(problemsOf(() => resolve(configText('', quota)))[0]).toContain(
      'source.quota.reserve: must be less',
    );
  });
});

describe('key expiry', () => {
  const text = configText('', '  keyExpiresAt: 2026-06-30\n');
  it.each([
    ['2026-06-15T23:59:59Z', undefined],
    ['2026-06-16T00:00:00Z', 'expires on 2026-06-30, in 14 days'],
    ['2026-06-29T08:00:00Z', 'expires on 2026-06-30, in 1 day '],
    ['2026-06-30T08:00:00Z', 'expires on 2026-06-30, today'],
    ['2026-07-01T00:00:00Z', 'expired on 2026-06-30'],
  ])('at %s warns: %s', (now, message) => {
    const { warnings } = resolve(text, { now });
    expect(warnings).toHaveLength(message === undefined ? 0 : 1);
    expect(warnings[0] ?? '').toContain(message ?? '');
  });
});

describe('paths', () => {
  it('start at the folder of the config file', () => {
    const settings = resolve(
      configText('stateDir: state\n', '  quota: { ledgerDir: ../quota }\n', 'out/my db ü.duckdb'),
    );
    const folder = path.dirname(settings.configPath ?? '');
    expect(settings.readersFile).toBe(path.join(folder, 'out/my db ü.duckdb'));
    expect(settings.stateDir).toBe(path.join(folder, 'state'));
    expect(settings.ledgerDir).toBe(path.join(path.dirname(folder), 'quota'));
  });

  it('expand ~/ to the home folder, and refuse it where there is none', () => {
    expect(resolve(configText('', '', '~/w.duckdb')).readersFile).toBe(`${validEnv.HOME}/w.duckdb`);
    const env = { ANALYTICS_API_KEY: 'k' };
    expect(catchConfigError(() => resolve(configText('', '', '~/w.duckdb'), { env })).message).toContain(
      'no home',
    );
  });

  it('are won by the command line, from the current folder', () => {
    const overrides = { duckdb: 'x.duckdb', stateDir: '/elsewhere', baseUrl: 'http://localhost:1/v1' };
    const settings = resolve(configText(), { overrides });
    expect(settings.readersFile).toBe(path.resolve('x.duckdb'));
    expect(settings.stateDir).toBe('/elsewhere');
    expect(settings.baseUrl.href).toBe('http://localhost:1/v1');
  });

  it.each(['.sluice/work.duckdb', './.sluice', '.sluice/a/b.duckdb', 'x/../.sluice/w.duckdb'])(
    'refuse to publish into the state folder: %s',
    (duckdb) => {
      expect(problemsOf(() => resolve(configText('', '', duckdb)))[0]).toContain(
        'destination.duckdb: must be outside the state folder',
      );
    },
  );

  it('refuse a state folder below the published file, or one that is a file', () => {
    expect(problemsOf(() => resolve(configText('stateDir: ./w/state\n', '', 'w')))[0]).toContain(
      'stateDir: must not',
    );
    expect(problemsOf(() => resolve(configText('stateDir: ./sluice.yaml\n')))[0]).toContain('is a file');
  });

  it.each(['.', './', 'sub/', '..'])('refuse the folder %s as the published file', (duckdb) => {
    expect(problemsOf(() => resolve(configText('', '', duckdb)))[0]).toContain('is a folder');
  });

  it.skipIf(process.platform === 'win32')('refuse a device as the published file', () => {
    expect(problemsOf(() => resolve(configText('', '', '/dev/null')))[0]).toContain('is a pipe or a device');
  });

  it.each(['":memory:"', 'md:db', 's3://bucket/w.duckdb', 'https://x/w.duckdb'])('refuse %s', (duckdb) => {
    expect(problemsOf(() => resolve(configText('', '', duckdb)))[0]).toContain(
      'must be a file on this machine',
    );
  });

  it('see through a link into the state folder', () => {
    const folder = realpathSync(makeFolder());
    mkdirSync(path.join(folder, '.sluice'));
    symlinkSync('.sluice', path.join(folder, 'link'));
    const file = path.join(folder, 'sluice.yaml');
    writeFileSync(file, configText('', '', 'link/w.duckdb'));
    const loaded = loadConfig({ path: file, env: validEnv });
    expect(
      catchConfigError(() => resolveSettings({ loaded, connectors, env: validEnv, nowMs: 0 })).message,
    ).toContain('must be outside the state folder');
  });
});

describe('ledger folder', () => {
  it.each([
    ['linux', { HOME: '/home/a' }, '/home/a/.local/state/sluice/quota'],
    ['linux', { HOME: '/home/a', XDG_STATE_HOME: '/x' }, '/x/sluice/quota'],
    ['linux', { HOME: '/home/a', XDG_STATE_HOME: 'relative' }, '/home/a/.local/state/sluice/quota'],
    ['linux', {}, '/state/quota'],
    ['linux', { HOME: '' }, '/state/quota'],
    ['linux', { HOME: '/' }, '/state/quota'],
    ['darwin', { HOME: '/Users/a' }, '/Users/a/Library/Application Support/sluice/quota'],
    ['darwin', {}, '/state/quota'],
    [
      'win32',
      { LOCALAPPDATA: 'C:\\Users\\a\\AppData\\Local' },
      'C:\\Users\\a\\AppData\\Local\\sluice\\quota',
    ],
  ] as const)('on %s with %j is %s', (platform, env, folder) => {
    expect(findLedgerDir({ env, platform, stateDir: '/state', exists: () => true })).toBe(folder);
  });

  it.each([
    [{ HOME: '/nonexistent' }, '/state/quota'],
    [{ HOME: '/nonexistent', XDG_STATE_HOME: '/x' }, '/x/sluice/quota'],
  ])('on linux with %j, where that folder does not exist, is %s', (env, folder) => {
    expect(findLedgerDir({ env, platform: 'linux', stateDir: '/state', exists: () => false })).toBe(folder);
  });
});

describe('settings', () => {
  it('have the defaults of the surface', () => {
    expect(resolve(configText())).toMatchObject({
      credentials: { kind: 'api-key', secret: validEnv.ANALYTICS_API_KEY },
      arrayParams: 'comma',
      keyExpiresAt: undefined,
      hashKey: undefined,
      retention: {
        archiveMs: 30 * 86_400_000,
        historyMs: undefined,
        quarantineMs: 90 * 86_400_000,
        runsMs: 365 * 86_400_000,
      },
      ledgerDir: `${validEnv.HOME}/.local/state/sluice/quota`,
      warnings: [],
    });
  });

  it('need no key for commands that send no request', () => {
    const loaded = load(configText(), {}, 'optional');
    const options = { loaded, connectors, env: {}, nowMs: 0 };
    expect(resolveOfflineSettings(options)).not.toHaveProperty('credentials');
    expect(catchConfigError(() => resolveSettings(options)).code).toBe('key_missing');
  });

  it('come from an object as well', () => {
    const source = { connector: 'analytics-read', baseUrl: 'https://a.example.com/v1', apiKey: 'k' };
    const loaded = parseConfig({ source, destination: { duckdb: 'w.duckdb' } }, '/base');
    expect(resolveSettings({ loaded, connectors, env: {}, nowMs: 0 })).toMatchObject({
      configPath: undefined,
      readersFile: '/base/w.duckdb',
      ledgerDir: '/base/.sluice/quota',
    });
  });
});
