import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { connectors } from '../../connectors/registry.ts';
import { commands } from '../../src/cli/commands.ts';
import { globalOptions } from '../../src/cli/options/global-options.ts';
import { nameTwin } from '../../src/cli/options/option.ts';
import { parseCommandLine } from '../../src/cli/parse-command-line.ts';
import { resolveValues } from '../../src/cli/options/resolve-values.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { resolveSettings } from '../../src/config/resolve-settings.ts';
import { listBlocks, listTableRows, readSection } from '../docs/markdown.ts';
import {
  accountsCompose,
  accountsCronJob,
  compose,
  cronJob,
  deployment,
  type Pod,
  readFile,
  readUnit,
} from './manifests.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'sluice-manifests-'));
afterAll(() => rmSync(folder, { recursive: true }));

const job = cronJob.spec.jobTemplate.spec;
const accountsPod = accountsCronJob.spec.jobTemplate.spec.template.spec;
const podsOfOneKey: readonly (readonly [string, Pod])[] = [
  ['cronjob', job.template.spec],
  ['deployment', deployment.spec.template.spec],
];
const pods = [...podsOfOneKey, ['cronjob of accounts', accountsPod] as const];
const accountsService = accountsCompose.services['sluice'];
const services = [
  ...Object.entries(compose.services),
  ...Object.entries(accountsCompose.services).map(
    ([name, service]) => [`accounts ${name}`, service] as const,
  ),
];
const unit = readUnit('docker/systemd/sluice.service');
const unitCommand = (unit.get('ExecStart')?.[0] ?? '').split(' ').slice(2);

/** Every command line of the manifests, with the environment it is given. */
const invocations: readonly (readonly [string, readonly string[], Readonly<Record<string, string>>])[] = [
  ...services.map(([name, { command, environment }]) => [`compose ${name}`, command, environment] as const),
  ...pods.map(
    ([
      name,
      {
        containers: [container],
      },
    ]) => {
      const env = Object.fromEntries(container.env.map((entry) => [entry.name, entry.value]));
      return [`kubernetes ${name}`, container.args, env] as const;
    },
  ),
  ['systemd', unitCommand, {}],
  ...listDocumentedCommands().map((line) => [line, line.split(' '), {}] as const),
];

describe('commands of the manifests and of docs/deploy.md', () => {
  it('are found', () => {
    const documented = listDocumentedCommands().map((line) => line.split(' ')[0]);
    expect(documented).toEqual(['demo', 'sync', 'status', 'check', 'check', 'sync']);
  });

  it.each(invocations)('%s: is one that Sluice takes', async (_, argv, env) => {
    const parsed = await parseCommandLine(argv, commands);
    if (parsed.kind !== 'run') throw new Error(`not a command: ${argv.join(' ')}`);
    const options = Object.fromEntries(parsed.command.options.map((option) => [option.flag, option]));
    const sources = { flags: parsed.flags, env, nowMs: Date.UTC(2026, 10, 20) };
    expect(() => resolveValues({ ...globalOptions, ...options }, sources)).not.toThrow();
    const twins = [...Object.values(globalOptions), ...parsed.command.options].map(({ flag }) =>
      nameTwin(flag),
    );
    const unknown = Object.keys(env).filter((name) => name.startsWith('SLUICE_') && !twins.includes(name));
    expect(unknown).toEqual([]);
  });

  it('end by themselves before they are ended', () => {
    const seconds = 5 * 3600;
    expect(job.template.spec.containers[0].args.join(' ')).toContain('--deadline 5h');
    // A pod that ends with 75 is followed by one with as much time, and all end before the next day's.
    expect(job.activeDeadlineSeconds).toBeGreaterThan(4 * seconds);
    expect(job.activeDeadlineSeconds).toBeLessThan(24 * 3600);
    expect(unitCommand.join(' ')).toContain('--deadline 5h');
    expect(unit.get('TimeoutStartSec')).toEqual(['6h']);
  });
});

describe('configs of the manifests', () => {
  it.each([
    'docker/config/demo.yaml',
    'docker/config/sluice.yaml',
    'docker/kubernetes/common/sluice.yaml',
    'docker/systemd/sluice.yaml',
  ])('%s is valid, and keeps all it writes in one place', (file) => {
    const text = readFile(file);
    writeFileSync(path.join(folder, 'key'), 'example-key-0123456789\n', { mode: 0o600 });
    const written = path.join(folder, 'sluice.yaml');
    writeFileSync(written, text.replace(/\$\{file:\/run\/[^}]+\}/, '${file:./key}'));
    const env = { ANALYTICS_API_KEY: 'example-key-0123456789' };
    const loaded = loadConfig({ path: written, env });
    expect(resolveSettings({ loaded, connectors, env, nowMs: 0 }).warnings).toEqual([]);
    const place = file.includes('systemd') ? '/var/lib/sluice/' : '/data/';
    const paths = [...text.matchAll(/(?:ledgerDir|duckdb|parquet|stateDir): ([^\s}]+)/g)].map(
      (match) => match[1],
    );
    expect(paths).toHaveLength(3);
    expect(paths.filter((one) => !one?.startsWith(place))).toEqual([]);
  });

  it('find the key where it is mounted', () => {
    expect(readFile('docker/config/sluice.yaml')).toContain('${file:/run/secrets/analytics_api_key}');
    expect(compose.services['sluice']?.secrets).toEqual(['analytics_api_key']);
    const mounts = podsOfOneKey.map(([, pod]) =>
      pod.containers[0].volumeMounts.find(({ name }) => name === 'key'),
    );
    for (const mount of mounts) {
      const file = `${mount?.mountPath}/analytics_api_key`;
      expect(readFile('docker/kubernetes/common/sluice.yaml')).toContain(`\${file:${file}}`);
    }
    const [credential = ''] = unit.get('LoadCredential') ?? [];
    const name = credential.split(':')[0];
    expect(readFile('docker/systemd/sluice.yaml')).toContain(
      `\${file:/run/credentials/sluice.service/${name}}`,
    );
  });
});

describe('exit codes', () => {
  const documented = listTableRows(readSection('docs/errors.md', '## Exit codes')).flatMap(
    ([codes = '', , again = '']) => codes.split(',').map((code) => ({ code: Number(code), again })),
  );
  const failing = documented.filter(({ code, again }) => code !== 0 && !again.startsWith('yes'));
  const later = documented.filter(({ again }) => again.startsWith('yes'));
  const codesOf = (rows: typeof documented) => rows.map(({ code }) => code).toSorted((a, b) => a - b);

  it('are each in one rule of the job: fail at once, or try again', () => {
    const { rules } = job.podFailurePolicy;
    const valuesOf = (action: string) =>
      rules.filter((rule) => rule.action === action).flatMap(({ onExitCodes }) => onExitCodes?.values ?? []);
    expect(valuesOf('FailJob')).toEqual(codesOf(failing));
    expect(valuesOf('Count')).toEqual(codesOf(later));
    // An eviction ends with 143, which must not be counted: the first rule that fits decides.
    expect(rules[0]?.action).toBe('Ignore');
  });

  it('end the tries of the service where trying again does not help', () => {
    expect(unit.get('Restart')).toEqual(['on-failure']);
    expect(unit.get('RestartPreventExitStatus')?.[0]?.split(' ').map(Number)).toEqual(codesOf(failing));
    expect(unit.get('SuccessExitStatus')).toEqual(['143']);
  });
});

describe('containers', () => {
  it.each(services)('of compose service %s may do little', (_, service) => {
    expect(service).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      mem_limit: service === accountsService ? '1g' : '512m',
    });
    expect(service.tmpfs[0]).toMatch(/^\/tmp:.*noexec/);
    // What listens in a container is for this machine alone.
    expect(service.ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
  });

  it.each(pods)('of the %s may do little', (_, pod) => {
    const [container] = pod.containers;
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 10001,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    const memory = pod === accountsPod ? '1Gi' : '512Mi';
    expect(container.resources.limits).toEqual({ memory });
    expect(container.resources.requests['memory']).toBe(memory);
    const writable = container.volumeMounts.filter(({ readOnly }) => !readOnly);
    expect(writable.map(({ mountPath }) => mountPath)).toEqual(['/data', '/tmp']);
    expect(container.volumeMounts.map(({ name }) => name)).toEqual(pod.volumes.map(({ name }) => name));
    expect(pod.volumes.map((volume) => Object.keys(volume).length)).toEqual(pod.volumes.map(() => 2));
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(10);
  });

  it('never run twice on one state folder by schedule', () => {
    expect(cronJob.spec.concurrencyPolicy).toBe('Forbid');
    expect(job.template.spec.restartPolicy).toBe('Never');
    expect(deployment.spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } });
  });

  it('that stay are asked for their health on the port they listen on', () => {
    const [container] = deployment.spec.template.spec.containers;
    const { startupProbe, livenessProbe, readinessProbe, ports, env } = container;
    expect([startupProbe, livenessProbe, readinessProbe].map((probe) => probe?.httpGet)).toEqual([
      { path: '/healthz', port: 'metrics' },
      { path: '/healthz', port: 'metrics' },
      { path: '/readyz', port: 'metrics' },
    ]);
    expect(env).toContainEqual({ name: 'SLUICE_METRICS_PORT', value: String(ports[0]?.containerPort) });
  });
});

/** What docs/deploy.md gives to Sluice inside a container or a crontab, where no line begins with its name. */
function listDocumentedCommands(): readonly string[] {
  return listBlocks('docs/deploy.md')
    .flatMap(({ text }) => text.replaceAll(/\\\n\s*/g, '').split('\n'))
    .flatMap((line) => {
      const found = /^(?:docker|[\d*]+ ).*(?:[ /]sluice|bin\.js) ([a-z].*?)(?: \d?>.*)?$/.exec(line);
      return found === null ? [] : [found[1] ?? ''];
    });
}
