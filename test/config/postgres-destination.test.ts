import { describe, expect, it } from 'vitest';
import { connectors } from '../../connectors/registry.ts';
import { parseConfig } from '../../src/config/load-config.ts';
import { resolveOfflineSettings } from '../../src/config/resolve-settings.ts';
import { SyncError } from '../../src/model/errors.ts';
import { listDestinationSecrets } from '../../src/model/destination-secrets.ts';

const url = 'postgres://sluice:p%40ss@db.example.com:5433/warehouse';

function resolve(postgres: unknown) {
  const source = { connector: 'analytics-read', baseUrl: 'https://analytics.example.com/api/v1' };
  const loaded = parseConfig({ source, destination: { postgres } }, '/project');
  return resolveOfflineSettings({ loaded, connectors, env: {}, nowMs: 0 });
}

function refuse(postgres: object): string {
  try {
    resolve(postgres);
    return '';
  } catch (thrown) {
    if (!(thrown instanceof SyncError)) throw thrown;
    expect(thrown).toMatchObject({ exitCode: 2, code: 'config_invalid' });
    return `${thrown.message} ${thrown.hint}`;
  }
}

describe('Postgres in a config', () => {
  it('is shown without its login, and its password is a secret', () => {
    const { destinations } = resolve({ url: `${url}?sslmode=require` });
    expect(destinations).toMatchObject([
      { kind: 'postgres', path: 'postgres://db.example.com:5433/warehouse.public', schema: 'public' },
      { kind: 'duckdb', path: '/project/.sluice/readers.duckdb' },
    ]);
    expect(listDestinationSecrets(destinations)).toEqual(['p%40ss', 'p@ss']);
  });

  it('may have a schema of another name', () => {
    expect(resolve({ url, schema: 'analytics' }).destinations[0]).toMatchObject({ schema: 'analytics' });
  });

  it.each<[string, object, string]>([
    ['another server', { url: 'mysql://root@db/warehouse' }, 'is not an address of a database'],
    ['no database', { url: 'postgres://db.example.com' }, 'Write postgres://user:password@host'],
    ['a broken escape', { url: 'postgres://u:50%@db/warehouse' }, 'is not an address of a database'],
    ['an unknown option', { url: `${url}?service=mine` }, 'has an option that is not supported: service'],
    ['an sslmode that is not one', { url: `${url}?sslmode=bogus` }, 'Write one of disable, allow, prefer'],
    [
      'one that checks no certificate',
      { url: `${url}?sslmode=no-verify` },
      'has an sslmode that does not exist',
    ],
    ['two of them', { url: `${url}?sslmode=require&sslmode=disable` }, 'or several'],
    ['a schema with capitals', { url, schema: 'Analytics' }, 'must be lower-case letters'],
    ['a long schema', { url, schema: 'a'.repeat(56) }, 'destination.postgres.schema'],
    ['no url', { schema: 'analytics' }, 'destination.postgres.url'],
  ])('is refused with %s, and says what to write', (_, postgres, words) => {
    const said = refuse(postgres);
    expect(said).toContain(words);
    expect(said).not.toMatch(/p%40ss|p@ss/);
  });
});
