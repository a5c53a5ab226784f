import { describe, expect, it } from 'vitest';
import { connectors } from '../../connectors/registry.ts';
import { parseConfig } from '../../src/config/load-config.ts';
import { resolveOfflineSettings } from '../../src/config/resolve-settings.ts';
import type { ConfigInput } from '../../src/model/config.ts';
import { listDestinationSecrets } from '../../src/model/destination-secrets.ts';

type Written = ConfigInput['destination'];

function resolve(destination: Written) {
  const source = { connector: 'analytics-read', baseUrl: 'https://analytics.example.com/api/v1' };
  const loaded = parseConfig({ source, destination }, '/project');
  return resolveOfflineSettings({ loaded, connectors, env: {}, nowMs: 0 });
}

const endpoint = 'https://catalog.example.com/iceberg';
const at = (change: object = {}): Written => ({
  iceberg: { endpoint, warehouse: 'wh', namespace: 'analytics', ...change },
});
const oauth2 = { clientId: 'sluice', clientSecret: 'hush-hush', tokenUrl: 'https://login.example.com/token' };

describe('an Iceberg catalog of a config', () => {
  it('gives keys for the bucket itself unless the config does, and its token is a secret', () => {
    const { destinations } = resolve(at({ token: 'a-token' }));
    expect(destinations).toMatchObject([
      {
        kind: 'iceberg',
        path: 'catalog.example.com/iceberg wh.analytics',
        schema: 'analytics',
        store: undefined,
        commitsTogether: true,
      },
      { kind: 'duckdb', path: '/project/.sluice/readers.duckdb' },
    ]);
    expect(listDestinationSecrets(destinations)).toEqual(['a-token']);
  });

  it('may ask for a login and for commits of one table', () => {
    const { destinations } = resolve({
      ...at({ oauth2, multiTableCommit: false }),
      s3: { credentials: { keyId: 'id', secret: 'store-secret' } },
    });
    expect(destinations[0]).toMatchObject({
      commitsTogether: false,
      login: { clientId: 'sluice' },
      store: { keys: { keyId: 'id' } },
    });
    expect(listDestinationSecrets(destinations)).toEqual(['hush-hush', 'store-secret']);
  });

  it.each(['/v1', '/v1/', '/'])('is the same with %s behind its address', (end) => {
    const [destination] = resolve(at({ endpoint: `${endpoint}${end}` })).destinations;
    expect(destination).toMatchObject({ path: 'catalog.example.com/iceberg wh.analytics' });
  });

  it.each<[string, Written, string]>([
    ['an address in the clear', at({ endpoint: 'http://catalog.example.com' }), 'in the clear'],
    [
      'a login in the address',
      at({ endpoint: 'https://me:hush-hush@catalog.example.com' }),
      'without a login in it',
    ],
    ['no address', at({ endpoint: 'catalog.example.com' }), 'is not the address of a server'],
    [
      'a login in the clear',
      at({ oauth2: { ...oauth2, tokenUrl: 'http://login.example.com' } }),
      'in the clear',
    ],
    ['two logins', at({ token: 'a-token', oauth2 }), 'must have token or oauth2, not both'],
    ['a namespace of two levels', at({ namespace: 'a.b' }), 'must be lower-case letters'],
    ['no namespace', at({ namespace: undefined }), 'destination.iceberg.namespace'],
  ])('is refused with %s, and says what to write', (_, destination, words) => {
    let said = '';
    try {
      resolve(destination);
    } catch (thrown) {
      const { message, hint, exitCode } = thrown as { message: string; hint: string; exitCode: number };
      expect(exitCode).toBe(2);
      said = `${message} ${hint}`;
    }
    expect(said).toContain(words);
    expect(said).not.toMatch(/hush-hush|a-token/);
  });
});
