import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listAccounts } from '../../src/config/accounts.ts';
import { wrapConfig } from '../../src/config/config-file.ts';
import { withoutSecretVariables } from '../../src/config/secret-variables.ts';

const env = {
  PATH: '/bin',
  PLACE: 'eu',
  KEY_ACME: 'a',
  KEY_GLOBEX: 'b',
  KEY_REST: 'c',
  HASH: 'd',
  DUCK: 'e',
  file: 'f',
};

describe('the environment of a program', () => {
  it('has no variable that a secret of any account is read from', () => {
    const input = {
      source: { baseUrl: 'https://${PLACE}.example', apiKey: '${KEY_REST}' },
      defaults: { hashKey: '${HASH}' },
      destination: { motherduck: { database: 'd', token: '${DUCK}' } },
      accounts: {
        acme: { source: { apiKey: '${KEY_ACME:-${KEY_GLOBEX}}' } },
        initech: { source: { apiKey: '${file:keys/initech}' }, bogus: 1 },
      },
    };
    const accounts = listAccounts(wrapConfig(input), env)?.accounts ?? [];
    expect(withoutSecretVariables(env, accounts)).toEqual({ PATH: '/bin', PLACE: 'eu', file: 'f' });
  });

  it('knows accounts that are in a file of their own', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-secret-variables-'));
    writeFileSync(join(folder, 'accounts.yaml'), 'acme: { source: { bearerToken: "Bearer ${KEY_ACME}" } }\n');
    const shared = {
      ...wrapConfig({ accounts: '${file:accounts.yaml}' }, folder),
      path: join(folder, 'sluice.yaml'),
    };
    const { KEY_ACME: _, ...others } = env;
    expect(withoutSecretVariables(env, listAccounts(shared, env)?.accounts ?? [])).toEqual(others);
  });

  it('is unchanged without accounts', () => {
    expect(withoutSecretVariables(env, [])).toEqual(env);
  });
});
