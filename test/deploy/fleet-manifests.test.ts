import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { connectors } from '../../connectors/registry.ts';
import { commands } from '../../src/cli/commands.ts';
import { globalOptions } from '../../src/cli/options/global-options.ts';
import { resolveValues } from '../../src/cli/options/resolve-values.ts';
import { parseCommandLine } from '../../src/cli/parse-command-line.ts';
import { listAccounts } from '../../src/config/accounts.ts';
import { readConfigFile } from '../../src/config/config-file.ts';
import { resolveFleet } from '../../src/config/fleet-settings.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { resolveSettings } from '../../src/config/resolve-settings.ts';
import { parseCron } from '../../src/schedule/cron-schedule.ts';
import { readText } from '../docs/markdown.ts';
import { root } from './dockerfile.ts';
import { fleetCompose, fleetDeployment, fleetJob, readFile, readYaml } from './manifests.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'sluice-fleet-manifests-'));
afterAll(() => rmSync(folder, { recursive: true }));

const { init, worker } = fleetCompose.services;
const pods = [
  ['job', fleetJob.spec.template.spec],
  ['deployment', fleetDeployment.spec.template.spec],
] as const;
const env = {
  FLEET_DATABASE_URL: 'postgres://sluice:example@postgres:5432/fleet',
  FLEET_ENCRYPTION_KEY: 'an-example-of-a-key-0123456789',
};

/** Every command line of the manifests, with the environment it is given. */
const invocations: readonly (readonly [string, readonly string[], Readonly<Record<string, string>>])[] = [
  ['compose init', init.command, init.environment],
  ['compose worker', worker.command, worker.environment],
  ...pods.map(([name, { containers }]) => {
    const [container] = containers;
    const given = Object.fromEntries(container.env.map((one) => [one.name, one.value]));
    return [`kubernetes ${name}`, container.args, given] as const;
  }),
];

describe('the manifests of a fleet', () => {
  it.each([
    ['docker/config/fleet.yaml', { kind: 'postgres' }],
    ['docker/kubernetes/fleet/sluice.yaml', { kind: 's3', bucket: 'bucket', prefix: 'fleet' }],
  ])('%s is valid, for each account and for the fleet', (file, store) => {
    const written = path.join(folder, 'sluice.yaml');
    const secrets = { database_url: env.FLEET_DATABASE_URL, encryption_key: env.FLEET_ENCRYPTION_KEY };
    for (const [name, text] of Object.entries({ ...secrets, catalog_url: env.FLEET_DATABASE_URL }))
      writeFileSync(path.join(folder, name), text, { mode: 0o600 });
    const local = readFile(file)
      .replace('${file:/run/secrets/sluice/', '${file:./key-of-')
      .replaceAll('/run/secrets/fleet/', './');
    writeFileSync(written, local);
    const config = readConfigFile(written);
    const fleet = resolveFleet(config, { env, home: folder });
    expect(fleet).toMatchObject({ place: 'postgres://postgres:5432/fleet', store });
    const { expression = '', timezone } = fleet.schedule ?? {};
    expect(parseCron(expression, timezone, 0).next(0)).toBeDefined();
    const accounts = listAccounts(config, env)?.accounts ?? [];
    expect(accounts.map(({ name }) => name)).toEqual(['acme', 'globex']);
    for (const account of accounts) {
      writeFileSync(path.join(folder, `key-of-${account.name}`), 'example-key-0123456789\n', { mode: 0o600 });
      const loaded = loadConfig({ path: written, env, account });
      expect(resolveSettings({ loaded, connectors, env, nowMs: 0 }).warnings).toEqual([]);
    }
  });

  it.each(invocations)('%s is a command that Sluice takes', async (_, argv, environment) => {
    const parsed = await parseCommandLine(argv, commands);
    if (parsed.kind !== 'run') throw new Error(`not a command: ${argv.join(' ')}`);
    const options = Object.fromEntries(parsed.command.options.map((option) => [option.flag, option]));
    const sources = { flags: parsed.flags, env: environment, nowMs: 0 };
    expect(() => resolveValues({ ...globalOptions, ...options }, sources)).not.toThrow();
  });

  it('may do little, and have time to drain', () => {
    for (const service of [init, worker])
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        ports: [],
      });
    for (const [, pod] of pods) {
      const [container] = pod.containers;
      expect(pod.automountServiceAccountToken).toBe(false);
      expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 10001 });
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(container.volumeMounts.map(({ name }) => name)).toEqual(pod.volumes.map(({ name }) => name));
    }
    const [, { terminationGracePeriodSeconds, containers }] = pods[1];
    expect(terminationGracePeriodSeconds).toBeGreaterThanOrEqual(60);
    expect(containers[0].livenessProbe?.httpGet.path).toBe('/healthz');
  });

  it('mount the key of each account where the config reads it', () => {
    const names = Object.keys(fleetCompose.secrets);
    expect(names).toEqual(['acme', 'globex']);
    for (const { secrets } of [init, worker])
      expect(secrets).toEqual(names.map((name) => ({ source: name, target: `/run/secrets/sluice/${name}` })));
    for (const [, pod] of pods) {
      const sources = pod.volumes.flatMap(({ projected }) => projected?.sources ?? []);
      expect(sources.map(({ secret }) => secret.items[0].path)).toEqual(names);
    }
  });

  it('scale by columns that the tables have', () => {
    const [, scaled] = parseAllDocuments(readFile('docker/kubernetes/fleet/scaledobject.yaml'));
    const { spec } = z
      .object({
        spec: z.object({
          scaleTargetRef: z.object({ name: z.string() }),
          triggers: z.tuple([
            z.object({ metadata: z.object({ query: z.string(), targetQueryValue: z.string() }) }),
          ]),
        }),
      })
      .parse(scaled?.toJS());
    const target = z
      .object({ metadata: z.object({ name: z.string() }) })
      .parse(readYaml('docker/kubernetes/fleet/deployment.yaml'));
    expect(spec.scaleTargetRef.name).toBe(target.metadata.name);
    const { query, targetQueryValue } = spec.triggers[0].metadata;
    expect(fleetDeployment.spec.template.spec.containers[0].args.join(' ')).toContain(
      `--lanes ${targetQueryValue}`,
    );
    const tables = readText('src/fleet/database/schema.ts');
    for (const column of ['paused_at', 'holder', 'next_at']) {
      expect(query).toContain(column);
      expect(tables).toMatch(new RegExp(`^ +${column} `, 'm'));
    }
  });
});

describe('add-packages.ts', () => {
  it('copies packages with all that they need', async () => {
    const target = path.join(folder, 'node_modules');
    mkdirSync(target);
    const script = path.join(root, 'docker/add-packages.ts');
    const names = ['pg', 'pg-boss', 'tar'];
    execFileSync(process.execPath, [
      '--no-warnings',
      script,
      path.join(root, 'node_modules'),
      target,
      ...names,
    ]);
    const require = createRequire(path.join(folder, 'here.js'));
    const [pg, boss, tar] = await Promise.all(
      names.map((name) => import(pathToFileURL(require.resolve(name)).href) as Promise<object>),
    );
    expect(pg).toHaveProperty('Pool');
    expect(boss).toHaveProperty('PgBoss');
    expect(tar).toHaveProperty('Pack');
  });

  it('adds nothing where nothing is asked for, and names what it cannot find', () => {
    const script = path.join(root, 'docker/add-packages.ts');
    const run = (...names: string[]) =>
      execFileSync(
        process.execPath,
        ['--no-warnings', script, path.join(root, 'node_modules'), folder, ...names],
        {
          stdio: 'pipe',
        },
      );
    expect(() => run()).not.toThrow();
    expect(() => run('no-such-package')).toThrow('no-such-package is not in');
  });
});
