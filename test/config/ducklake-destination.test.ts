import { describe, expect, it } from 'vitest';
import { connectors } from '../../connectors/registry.ts';
import { parseConfig } from '../../src/config/load-config.ts';
import { resolveOfflineSettings } from '../../src/config/resolve-settings.ts';
import type { ConfigInput } from '../../src/model/config.ts';
import { listDestinationSecrets } from '../../src/model/destination-secrets.ts';

type Written = ConfigInput['destination'];

function resolve(destination: Written, engine?: ConfigInput['engine']) {
  const source = { connector: 'analytics-read', baseUrl: 'https://analytics.example.com/api/v1' };
  const loaded = parseConfig({ source, destination, ...(engine && { engine }) }, '/project');
  return resolveOfflineSettings({ loaded, connectors, env: {}, nowMs: 0 });
}

const postgres = 'postgres://sluice:p%40ss@db.example.com:5433/lake';

describe('a DuckLake of a config', () => {
  it('is shown without its password, which is a secret', () => {
    const { destinations } = resolve({
      ducklake: { catalog: postgres, data: 's3://bucket/sluice/', schema: 'analytics' },
      s3: { endpoint: 'https://s3.example.com', credentials: { keyId: 'id', secret: 'store-secret' } },
    });
    expect(destinations).toMatchObject([
      {
        kind: 'ducklake',
        path: 'postgres://db.example.com:5433/lake#analytics',
        data: 's3://bucket/sluice',
        extensions: { folder: '/project/.sluice/extensions', installs: true },
      },
      { kind: 'duckdb', path: '/project/.sluice/readers.duckdb' },
    ]);
    expect(listDestinationSecrets(destinations)).toEqual(['p%40ss', 'p@ss', 'store-secret']);
  });

  it('may be on this machine, beside a file for readers', () => {
    const ducklake = { catalog: 'sqlite:./catalog.sqlite', data: './data' };
    const settings = resolve({ ducklake, duckdb: './out.duckdb' }, { extensionDirectory: './parts' });
    expect(settings.readersFile).toBe('/project/out.duckdb');
    expect(settings.destinations).toMatchObject([
      { kind: 'duckdb', path: '/project/out.duckdb' },
      {
        path: '/project/catalog.sqlite',
        catalog: { kind: 'sqlite', file: '/project/catalog.sqlite' },
        data: '/project/data',
        schema: 'main',
        extensions: { folder: '/project/parts', installs: false },
      },
    ]);
  });

  const at = (change: object): Written => ({ ducklake: { catalog: postgres, data: './data', ...change } });

  it.each<[string, Written, string]>([
    ['a file of DuckDB', at({ catalog: './c.duckdb' }), 'would lock out readers'],
    ['another server', at({ catalog: 'mysql://root@db/lake' }), 'must be a database of Postgres'],
    ['no database', at({ catalog: 'postgres://db.example.com' }), 'is not an address of a database'],
    ['a broken escape', at({ catalog: 'postgres://u:50%@db/lake' }), 'is not an address of a database'],
    ['an unknown option', at({ catalog: `${postgres}?service=mine` }), 'PGSSLMODE'],
    ['another store', at({ data: 'gs://bucket/lake' }), 'must be a folder, or a bucket of S3'],
    ['a bucket with capitals', at({ data: 's3://My_Bucket' }), 'is not the name of a bucket'],
    ['a pattern', at({ data: './data*' }), 'must not have a path with one of'],
    [
      'the folder of a lake',
      { ...at({}), parquet: './data' },
      'must not be the folder of destination.parquet',
    ],
    ['a folder in the state', at({ data: './.sluice/data' }), 'must not be the folder of the state folder'],
    [
      'a catalog in the state',
      at({ catalog: 'sqlite:./.sluice/work.duckdb' }),
      'must not be the state folder, nor inside it',
    ],
    [
      'the same file twice',
      { ...at({ catalog: 'sqlite:./out.duckdb' }), duckdb: './out.duckdb' },
      'must not be destination.duckdb',
    ],
    ['a schema with capitals', at({ schema: 'Analytics' }), 'must be lower-case letters'],
    ['no data', { ducklake: { catalog: postgres } } as unknown as Written, 'destination.ducklake.data'],
    [
      'a store in the clear',
      { ...at({ data: 's3://bucket/lake' }), s3: { endpoint: 'http://s3.example.com' } },
      'in the clear',
    ],
    [
      'a store with a path',
      { ...at({ data: 's3://bucket/lake' }), s3: { endpoint: 'https://s3.example.com/x' } },
      'is not the address of a server',
    ],
  ])('is refused with %s, and says what to write', (_, destination, words) => {
    expect(() => resolve(destination)).toThrow(
      expect.objectContaining({
        exitCode: 2,
        code: 'config_invalid',
      }),
    );
    const said = (() => {
      try {
        resolve(destination);
        return '';
      } catch (thrown) {
        const { message, hint } = thrown as { readonly message: string; readonly hint: string };
        return `${message} ${hint}`;
      }
    })();
    expect(said).toContain(words);
    expect(said).not.toMatch(/p%40ss|p@ss/);
  });
});
