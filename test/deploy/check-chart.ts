import { strict as assert } from 'node:assert';
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { stringify } from 'yaml';
import { makePythonEnvironment } from '../interop/python-environment.ts';
import { checkChartConfigs } from './chart-configs.ts';
import { CHART, readManifests, type Manifest } from './chart.ts';
import { compareCronJob, comparePods, listPods } from './chart-pods.ts';
import { root } from './dockerfile.ts';
import { accountsCronJob, cronJob, deployment, fleetDeployment, fleetJob, type Pod } from './manifests.ts';
import { findTools, schemaCheckers } from './platform-tools.ts';
import { refuseProgram, runProgram } from './run-program.ts';

/** The pods of docker/kubernetes by the values that make the same. */
const plain: Readonly<Record<string, Pod>> = {
  'default CronJob': cronJob.spec.jobTemplate.spec.template.spec,
  'accounts CronJob': accountsCronJob.spec.jobTemplate.spec.template.spec,
  'schedule Deployment': deployment.spec.template.spec,
  'fleet Deployment': fleetDeployment.spec.template.spec,
  'fleet Job': fleetJob.spec.template.spec,
};

/** What is refused at installation, and the words that say why. */
const refused: readonly (readonly [words: RegExp, ...set: readonly string[]])[] = [
  [
    /would scrape each pod twice/,
    'mode=schedule',
    'metrics.podMonitor.enabled=true',
    'metrics.serviceMonitor.enabled=true',
  ],
  [/a placeholder, e\.g\./, 'config.source.apiKey=a-key-that-is-written-out'],
  [/encryptionKey/, 'config.fleet.encryptionKey=a-key-that-is-written-out'],
  [/url/, 'config.destination.postgres.url=postgres://sluice:secret@db/warehouse'],
  [/baseUrl/, 'config.source.baseUrl=analytics.example.com'],
  [/adress/, 'config.source.adress=x'],
  [/replica/, 'replica=3'],
  [/mode/, 'mode=daemon'],
  [/secretFiles/, 'secretFiles={sluice}'],
  [/mode fleet needs config.accounts/, 'mode=fleet'],
  [/needs config.destination/, 'mode=fleet', 'config.accounts.acme.stateDir=/data/x'],
  [
    /postgres.to is empty/,
    'mode=fleet',
    'config.accounts.acme.stateDir=/data/x',
    'config.fleet.store=postgres',
    'config.destination.parquet=/data/lake',
  ],
];

/** The chart with the real Helm: linted, rendered for each set of values, and what comes out against its schemas. */
export async function checkChart(say: (text: string) => void): Promise<string> {
  const tools = findTools('helm', 'models', 'promtool');
  if ('problem' in tools) return `not checked: ${tools.problem}`;
  const python = makePythonEnvironment(schemaCheckers);
  if ('problem' in python) return `not checked: ${python.problem}`;
  const folder = mkdtempSync(join(tmpdir(), 'sluice-chart-'));
  try {
    const examples = globSync(`${CHART}/examples/*.yaml`, { cwd: root });
    const sets = [[], ...examples.map((file) => ['--values', file])];
    for (const values of sets) {
      const name = values.length === 0 ? 'default' : basename(values[1] ?? '', '.yaml');
      runProgram(tools.helm, ['lint', '--strict', '--quiet', CHART, ...values]);
      const rendered = runProgram(tools.helm, ['template', 'acme', CHART, '--namespace', 'data', ...values]);
      const manifests = readManifests(rendered);
      const own = manifests.filter(({ apiVersion }) => isOfOperator(apiVersion));
      const builtIn = join(folder, `${name}.yaml`);
      writeFileSync(
        builtIn,
        manifests
          .filter((one) => !own.includes(one))
          .map((one) => stringify(one, { aliasDuplicateObjects: false }))
          .join('---\n'),
      );
      runProgram(join(python.bin, 'kubernetes-validate'), ['--strict', builtIn]);
      for (const manifest of own) validateModel(tools.models, manifest);
      const rules = own.find(({ kind }) => kind === 'PrometheusRule');
      if (rules !== undefined) {
        writeFileSync(join(folder, 'rules.yaml'), stringify(rules['spec']));
        runProgram(tools.promtool, ['check', 'rules', join(folder, 'rules.yaml')]);
      }
      for (const { kind, pod } of listPods(manifests)) {
        const like = plain[`${name} ${kind}`];
        if (like === undefined) throw new Error(`there is no manifest like the ${kind} of ${name}`);
        comparePods(pod, like);
      }
      for (const manifest of manifests) if (manifest.kind === 'CronJob') compareCronJob(manifest);
      await checkChartConfigs(name, manifests, folder);
      say(
        `${name}: ${manifests.map(({ kind }) => kind).join(', ')} follow their schemas, and the config is right`,
      );
    }
    for (const [words, ...set] of refused) {
      const said = refuseProgram(tools.helm, ['template', CHART, ...set.flatMap((one) => ['--set', one])]);
      assert.match(said, words);
      assert.doesNotMatch(said, /written-out|sluice:secret/);
    }
    say(`${refused.length} kinds of wrong values are refused, secrets that are written out among them`);
    return `fine; ${sets.length} sets of values with Helm`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function isOfOperator(apiVersion: string): boolean {
  return /^(?:monitoring\.coreos\.com|keda\.sh)\//.test(apiVersion);
}

/** Compares a resource of an operator with the schema that the operator publishes. */
function validateModel(models: string, manifest: Manifest): void {
  const [group = '', version = ''] = manifest.apiVersion.split('/');
  const folder = group === 'keda.sh' ? 'keda' : 'prometheus-operator';
  const require = createRequire(join(models, 'here.js'));
  const found = require(join(models, folder, group, version, `${manifest.kind}.js`)) as Readonly<
    Record<string, new (data: unknown) => { validate(): void }>
  >;
  const Model = found[manifest.kind];
  if (Model === undefined) throw new Error(`there is no schema of ${manifest.apiVersion} ${manifest.kind}`);
  new Model(manifest).validate();
}
