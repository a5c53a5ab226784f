import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { connectors } from '../../connectors/registry.ts';
import { listAccounts } from '../../src/config/accounts.ts';
import { readConfigFile } from '../../src/config/config-file.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { resolveSettings } from '../../src/config/resolve-settings.ts';
import { ACCOUNT_NAME } from '../../src/model/account.ts';
import { accountsCompose, accountsCronJob, compose, readFile, readYaml } from './manifests.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'sluice-accounts-manifests-'));
afterAll(() => rmSync(folder, { recursive: true }));

const accountsPod = accountsCronJob.spec.jobTemplate.spec.template.spec;
const accountsService = accountsCompose.services['sluice'];

describe('the manifests of several accounts', () => {
  const folderOfKeys = '/run/secrets/sluice';

  it.each(['docker/config/accounts.yaml', 'docker/kubernetes/accounts/sluice.yaml'])(
    '%s is valid for each account, and keeps all it writes in one place',
    (file) => {
      const text = readFile(file);
      const written = path.join(folder, 'accounts.yaml');
      writeFileSync(written, text.replace('${file:/run/secrets/sluice/', '${file:./key-of-'));
      const { accounts = [], concurrency } = listAccounts(readConfigFile(written), {}) ?? {};
      expect({ names: accounts.map(({ name }) => name), concurrency }).toEqual({
        names: ['acme', 'globex'],
        concurrency: 4,
      });
      const paths = accounts.flatMap((account) => {
        const key = `key-of-${account.name}`;
        writeFileSync(path.join(folder, key), `${key}-0123456789\n`, { mode: 0o600 });
        const loaded = loadConfig({ path: written, env: {}, account });
        const settings = resolveSettings({ loaded, connectors, env: {}, nowMs: 0, platform: 'linux' });
        expect(settings.warnings).toEqual([]);
        expect(settings.credentials).toMatchObject({ secret: `${key}-0123456789` });
        const { source, destination, stateDir } = loaded.config;
        return [source.quota?.ledgerDir, destination.parquet, destination.duckdb, stateDir];
      });
      expect(paths).toEqual(
        accounts.flatMap(({ name }) => [
          '/data/quota',
          `/data/lake/account=${name}`,
          `/data/accounts/${name}.duckdb`,
          `/data/state/${name}`,
        ]),
      );
    },
  );

  it.each([
    [
      'compose',
      'docker/config/accounts.yaml',
      accountsService?.secrets.map((secret) => (typeof secret === 'string' ? secret : secret.target)),
    ],
    [
      'kubernetes',
      'docker/kubernetes/accounts/sluice.yaml',
      accountsPod.volumes.flatMap(({ projected }) =>
        (projected?.sources ?? []).map(({ secret }) => `${folderOfKeys}/${secret.items[0].path}`),
      ),
    ],
  ])('mount the key of each account where the config reads it: %s', (_, file, mounted) => {
    const config = z
      .object({
        source: z.object({ apiKey: z.string() }),
        accounts: z.record(z.string().regex(ACCOUNT_NAME), z.object({})),
      })
      .parse(readYaml(file));
    const names = Object.keys(config.accounts);
    expect(names).toEqual(['acme', 'globex']);
    const keyFile = /^\$\{file:(.+)\}$/.exec(config.source.apiKey)?.[1] ?? '';
    expect(mounted).toEqual(names.map((name) => keyFile.replace('${account}', name)));
  });

  it('have a secret each: a file for compose, an object that may be missing for the job', () => {
    const { secrets } = accountsCompose;
    const sources = accountsService?.secrets.map((secret) =>
      typeof secret === 'string' ? '' : secret.source,
    );
    expect(sources).toEqual(Object.keys(secrets));
    expect(Object.values(secrets).map(({ file }) => file)).toEqual(
      sources?.map((name) => `\${SLUICE_KEYS:-./secrets}/${name}`),
    );
    const sourcesOfJob = accountsPod.volumes.flatMap(({ projected }) => projected?.sources ?? []);
    expect(sourcesOfJob.map(({ secret }) => secret)).toEqual(
      ['acme', 'globex'].map((name) => ({
        name: `sluice-${name}`,
        items: [{ key: 'api_key', path: name }],
        optional: true,
      })),
    );
    const mount = accountsPod.containers[0].volumeMounts.find(({ name }) => name === 'key');
    expect(mount).toMatchObject({ mountPath: folderOfKeys, readOnly: true });
  });

  it('differ from those of one key in the keys, the config and the memory alone', () => {
    const usual = compose.services['sluice'];
    expect(accountsService).toEqual({
      ...usual,
      profiles: [],
      mem_limit: '1g',
      secrets: accountsService?.secrets,
      volumes: usual?.volumes.map((volume) => volume.replace('config/sluice.yaml', 'config/accounts.yaml')),
    });
    const [, ...lines] = readFile('docker/config/accounts.yaml').split('\n');
    expect(lines.join('\n')).toBe(readFile('docker/kubernetes/accounts/sluice.yaml'));
  });
});
