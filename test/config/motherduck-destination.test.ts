import { describe, expect, it } from 'vitest';
import { connectors } from '../../connectors/registry.ts';
import { parseConfig } from '../../src/config/load-config.ts';
import { resolveOfflineSettings } from '../../src/config/resolve-settings.ts';
import { isSecretPath } from '../../src/config/secret-paths.ts';
import { SyncError } from '../../src/model/errors.ts';
import { listDestinationSecrets } from '../../src/model/destination-secrets.ts';

const token = 'example-token';

function resolve(motherduck: unknown) {
  const source = { connector: 'analytics-read', baseUrl: 'https://analytics.example.com/api/v1' };
  const loaded = parseConfig({ source, destination: { motherduck } }, '/project');
  return resolveOfflineSettings({ loaded, connectors, env: {}, nowMs: 0 });
}

function refuse(motherduck: object): string {
  try {
    resolve(motherduck);
    return '';
  } catch (thrown) {
    if (!(thrown instanceof SyncError)) throw thrown;
    expect(thrown).toMatchObject({ exitCode: 2, code: 'config_invalid' });
    return `${thrown.message} ${thrown.hint}`;
  }
}

describe('MotherDuck in a config', () => {
  it.each(['analytics', 'md:analytics', 'motherduck:analytics'])('is found as %s', (database) => {
    const { destinations } = resolve({ database, token });
    expect(destinations).toMatchObject([
      { kind: 'motherduck', path: 'md:analytics.main', database: 'analytics', schema: 'main' },
      { kind: 'duckdb', path: '/project/.sluice/readers.duckdb' },
    ]);
    expect(listDestinationSecrets(destinations)).toEqual([token]);
    expect(isSecretPath(['destination', 'motherduck', 'token'])).toBe(true);
  });

  it.each<[string, object, string]>([
    ['no token', { database: 'analytics' }, 'destination.motherduck.token'],
    ['a token in the name', { database: 'md:x?motherduck_token=example-token', token }, 'is not the name'],
    ['a share', { database: 'md:_share/x/1', token }, 'is not the name of a database'],
    ['no name', { database: 'md:', token }, 'is not the name of a database'],
    ['a name of the engine', { database: 'Temp', token }, 'must not be Temp'],
    ['a schema with capitals', { database: 'x', schema: 'Main', token }, 'must be lower-case letters'],
  ])('is refused with %s, and says what to write', (_, motherduck, words) => {
    const said = refuse(motherduck);
    expect(said).toContain(words);
    expect(said).not.toContain(token);
  });
});
