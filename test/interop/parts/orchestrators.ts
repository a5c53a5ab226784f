import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import YAML from 'yaml';
import { root } from '../../deploy/dockerfile.ts';
import { waitForOutcome } from '../../deploy/outcome.ts';
import { listBlocks } from '../../docs/markdown.ts';
import { cliEntry } from '../../support/cli-entry.ts';
import type { Interop } from '../part.ts';
import { requirePython } from '../python-environment.ts';

const DAGSTER = ['dagster==1.13.29', 'dagster-pipes==1.13.29'];
const AIRFLOW = ['apache-airflow==3.3.2'];
const PREFECT = ['prefect==3.9.1'];
const CHECKED = [
  'visibility_mentions',
  'prompts_analytics',
  'commerce_category_products',
  'commerce_top_products',
];

/** What Dagster knows after it ran the assets of a program. */
interface DagsterEnd {
  readonly success: boolean;
  readonly retries: number;
  readonly materialized: Readonly<
    Record<string, { readonly version: string; readonly metadata: Readonly<Record<string, unknown>> }>
  >;
  readonly checks: Readonly<Record<string, readonly [string, boolean, string]>>;
  readonly log: readonly string[];
}

/** The examples and the docs' programs for orchestrators: a sync that has to wait is continued, at the time it names. */
export async function proveOrchestrators(interop: Interop): Promise<void> {
  await proveDagster(interop);
  await proveGitHub(interop);
  await provePrograms(interop, {
    name: 'Prefect',
    packages: PREFECT,
    example: 'examples/prefect/sluice_flow.py',
  });
  await provePrograms(interop, {
    name: 'Airflow',
    packages: AIRFLOW,
    example: 'examples/airflow/sluice_dag.py',
    runner: 'test/interop/run-airflow.py',
  });
}

async function proveDagster(interop: Interop): Promise<void> {
  const bin = requirePython(DAGSTER);
  const run = async (name: string, program: string, waits: boolean) => {
    const { stdout } = await runPython(interop, {
      name,
      command: [join(bin, 'python'), join(root, 'test/interop/run-dagster.py'), program],
      waits,
    });
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as DagsterEnd;
  };
  const full = await run('dagster', join(root, 'examples/dagster/definitions.py'), true);
  assert.ok(full.success, full.log.join('\n'));
  assert.equal(full.retries, 1, 'the step is tried again once');
  for (const stream of CHECKED) {
    const asset = full.materialized[`sluice/${stream}`];
    assert.ok(asset !== undefined, `${stream} is materialized`);
    assert.equal(asset.version, asset.metadata['run_id']);
    assert.equal(asset.metadata['verdict'], 'verified');
    assert.ok(Number(asset.metadata['dagster/row_count']) > 0);
    assert.deepEqual(full.checks[`sluice/${stream}`]?.slice(0, 2), ['verdict', true]);
  }
  interop.say('Dagster retries at resumeAt, and has an asset and a check for each stream');
  const [block] = listPrograms('dagster');
  const short = await run('dagster-docs', writeProgram(interop, 'dagster-docs', block ?? ''), false);
  assert.ok(short.success, short.log.join('\n'));
  assert.deepEqual(Object.keys(short.materialized).toSorted(), [
    'sluice/prompts_analytics',
    'sluice/visibility_mentions',
  ]);
  interop.say('the docs’ program for Dagster runs');
}

interface Programs {
  readonly name: string;
  readonly packages: readonly string[];
  readonly example: string;
  /** Runs a program in place of Python alone. */
  readonly runner?: string;
}

/** The example and the docs' program of one orchestrator. */
async function provePrograms(interop: Interop, { name, packages, example, runner }: Programs): Promise<void> {
  const bin = requirePython(packages);
  const id = name.toLowerCase();
  const [block] = listPrograms(id);
  const programs = [join(root, example), writeProgram(interop, `${id}-docs`, block ?? '')];
  for (const [index, program] of programs.entries()) {
    const command = [join(bin, 'python'), ...(runner === undefined ? [] : [join(root, runner)]), program];
    const { stdout } = await runPython(interop, { name: `${id}-${index}`, command, waits: true });
    if (runner !== undefined) assert.match(stdout, /^reschedules: 1$/m);
  }
  interop.say(`${name} continues at resumeAt: the example and the docs' program`);
}

async function proveGitHub(interop: Interop): Promise<void> {
  const text = readFileSync(join(root, 'examples/github-actions/sync.yml'), 'utf8');
  const { jobs } = YAML.parse(text) as {
    readonly jobs: Readonly<Record<string, { readonly steps: readonly { name?: string; run?: string }[] }>>;
  };
  const script = jobs['sync']?.steps.find(({ name }) => name === 'Sync')?.run ?? '';
  const command = ['bash', '--noprofile', '--norc', '-eo', 'pipefail', '-c', script];
  const { stdout } = await runPython(interop, { name: 'github', command, waits: true });
  assert.equal(stdout.match(/^::notice::/gm)?.length, 1);
  interop.say('the workflow for GitHub Actions continues at resumeAt');
}

/** Programs of the docs that import a package. */
function listPrograms(name: string): readonly string[] {
  return listBlocks('docs/integrations.md', 'python')
    .map(({ text }) => text)
    .filter((text) => new RegExp(`^(?:import|from) ${name}\\b`, 'm').test(text));
}

function writeProgram({ folder }: Interop, name: string, text: string): string {
  assert.notEqual(text, '', `docs/integrations.md has no program for ${name}`);
  const file = join(folder, `${name.replaceAll('-', '_')}.py`);
  writeFileSync(file, text);
  return file;
}

interface PythonRun {
  readonly name: string;
  readonly command: readonly string[];
  /** Whether the first sync has to end with 75. */
  readonly waits: boolean;
}

/** Runs a command in a project that was not synced yet, where `sluice` and `npx sluice` are the shim. */
async function runPython({ folder, env, baseUrl }: Interop, { name, command, waits }: PythonRun) {
  const project = join(folder, name);
  const bin = join(project, 'bin');
  mkdirSync(bin, { recursive: true });
  const source = { connector: 'analytics-read', baseUrl, apiKey: '${ANALYTICS_API_KEY}' };
  // JSON is YAML.
  writeFileSync(
    join(project, 'sluice.yaml'),
    JSON.stringify({ source, destination: { duckdb: './warehouse.duckdb' } }),
  );
  const shim = `exec "${process.execPath}" --no-warnings "${join(root, 'test/interop/sluice-shim.ts')}" "$@"`;
  for (const [program, script] of [
    ['sluice', shim],
    ['npx', `shift\n${shim}`],
  ] as const) {
    writeFileSync(join(bin, program), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, program), 0o755);
  }
  const state = join(project, 'shim');
  if (!waits) writeFileSync(state, '0');
  const [file = '', ...args] = command;
  const child = spawn(file, args, {
    cwd: project,
    env: {
      ...env,
      PATH: `${bin}${delimiter}${env['PATH'] ?? ''}`,
      SHIM_STATE: state,
      SHIM_CLI: cliEntry,
      AIRFLOW_HOME: join(project, 'airflow'),
      AIRFLOW__CORE__LOAD_EXAMPLES: 'False',
      DAGSTER_HOME: '',
      DO_NOT_TRACK: '1',
      PREFECT_HOME: join(project, 'prefect'),
      PREFECT_SERVER_ALLOW_EPHEMERAL_MODE: 'true',
      // A busy machine needs more than the usual 20.
      PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS: '300',
    },
  });
  const outcome = await waitForOutcome(child);
  assert.equal(outcome.exitCode, 0, `${name}\n${outcome.stdout}${outcome.stderr}`);
  return outcome;
}
