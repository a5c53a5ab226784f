import { describe, expect, it } from 'vitest';
import { parseConnection } from '../../src/clients/connection.ts';
import { connectionSpecification } from '../../src/clients/connection-spec.ts';

const inline = { base_url: 'https://api.example.com/v1', api_key: 'sk-1', folder: '/data/sluice' };

describe('a connection config', () => {
  it('may say everything itself', () => {
    const connection = parseConnection({ ...inline, deletes: 'hard', streams: 'a, b', max_wait: '30m' });
    expect(connection).toMatchObject({ streams: ['a', 'b'], maxWaitMs: 1_800_000, deadlineMs: undefined });
    expect(connection.source).toEqual({
      kind: 'inline',
      folder: '/data/sluice',
      config: {
        source: { connector: 'analytics-read', baseUrl: inline.base_url, apiKey: 'sk-1' },
        destination: { duckdb: '/data/sluice/warehouse.duckdb' },
        stateDir: '/data/sluice/.sluice',
        defaults: { deletes: 'hard' },
      },
    });
  });

  it('may name a config file, and one of its accounts; keys of the platform are left alone', () => {
    const given = { config_path: '/srv/sluice.yaml', account: 'acme', api_key: null, __injected: {} };
    expect(parseConnection(given)).toMatchObject({
      source: { kind: 'file', path: '/srv/sluice.yaml', account: 'acme' },
      maxWaitMs: 0,
    });
  });

  it.each<[string, unknown, string]>([
    ['that is not an object', [], 'it must be a JSON object'],
    ['without anything', {}, 'config_path: is missing'],
    ['without a key', { base_url: 'x', folder: '/x' }, 'api_key: is missing'],
    ['with a relative folder', { ...inline, folder: 'data' }, 'folder: must be an absolute path'],
    ['with a relative file', { config_path: './sluice.yaml' }, 'config_path: must be an absolute path'],
    ['with a misspelt key', { ...inline, folde: '/x' }, 'unknown key "folde"; did you mean "folder"?'],
    ['with both ways', { ...inline, config_path: '/x.yaml' }, 'base_url: is in the file'],
    ['with an account and no file', { ...inline, account: 'acme' }, 'account: is one of a sluice.yaml'],
    ['with another word for deletes', { ...inline, deletes: 'all' }, 'deletes: must be keep, soft or hard'],
  ])('%s is refused', (_, given, problem) => {
    expect(() => parseConnection(given)).toThrow(problem);
  });

  it('never has its values in a message', () => {
    expect(() => parseConnection({ ...inline, api_key: ['sk-secret'] })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('sk-secret') as string }) as Error,
    );
  });

  it('has each key in the specification, the secret marked', () => {
    const unknown = Object.fromEntries(
      Object.keys(connectionSpecification.properties).map((key) => [key, {}]),
    );
    expect(() => parseConnection(unknown)).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('unknown key') as string }) as Error,
    );
    const { api_key: secret } = connectionSpecification.properties;
    expect(secret).toMatchObject({ airbyte_secret: true });
  });
});
