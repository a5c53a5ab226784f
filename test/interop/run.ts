// npm run test:interop [part]: the TypeScript example, the docs' Python and the notebook, run against a simulated API; the
// notebook while syncs run. All but the example need Python 3.9 or newer and a package index. Then Spark with tables of
// Iceberg: it needs what tools/install-proof-tools.sh installs.
import { strict as assert } from 'node:assert';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hashWithKey } from '../../src/model/hash-key.ts';
import { startSimulatorServer } from '../../src/simulator/server.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { DEMO_KEY } from '../../src/simulator/simulator-options.ts';
import { root } from '../deploy/dockerfile.ts';
import { type Outcome, waitForOutcome } from '../deploy/outcome.ts';
import { makeDocsWorld } from '../docs/kit/docs-world.ts';
import { listBlocks, listMarkdown } from '../docs/markdown.ts';
import { cliEntry } from '../support/cli-entry.ts';
import { findSpark } from '../support/find-spark.ts';
import { explainMissing } from '../support/lake-servers.ts';
import { readNotebook, readOutput } from './notebook.ts';
import { proveSpark } from './prove-spark.ts';
import { makePythonEnvironment } from './python-environment.ts';

const PACKAGES = [
  'duckdb==2.0.0',
  'pytz==2026.6',
  'nbclient==0.11.0',
  'nbformat==5.11.1',
  'ipykernel==7.4.0',
  'pandas==3.1.1',
  'polars==2.1.0',
  'pyarrow==26.0.1',
];
const HASH_KEY = 'example-hash-key-0123456789';
const UNLIMITED = { requestsPerHour: 1_000_000, burstPerSecond: 100_000 };

const say = (text: string) => void process.stdout.write(`${text}\n`);
const folder = mkdtempSync(join(tmpdir(), 'sluice-interop-'));
const simulator = createSimulator({ keys: [DEMO_KEY], rateLimit: UNLIMITED });
const server = await startSimulatorServer(simulator);
const env = {
  ...process.env,
  HOME: folder,
  ANALYTICS_API_KEY: DEMO_KEY,
  ANALYTICS_BASE_URL: server.baseUrl,
  SLUICE_WAREHOUSE: join(folder, 'warehouse.duckdb'),
  SLUICE_LAKE: join(folder, 'lake'),
  SLUICE_PATIENCE: '60',
};

const part = process.argv[2];

try {
  if (part !== 'spark') await runReaders();
  if (part !== 'readers') await runSpark();
} finally {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
}

async function runReaders(): Promise<void> {
  await runExample();
  const python = makePythonEnvironment(PACKAGES);
  if ('problem' in python) return fail(`no Python was run: ${python.problem}`);
  await runPythonOfDocs(python.bin);
  await runNotebook(python.bin);
}

async function runSpark(): Promise<void> {
  const spark = findSpark();
  const missing = explainMissing() ?? (spark === undefined ? 'Spark is missing' : undefined);
  if (spark === undefined || missing !== undefined)
    return fail(`Spark was not run: ${missing}: on Debian, run tools/install-proof-tools.sh`);
  say(await proveSpark(spark, join(folder, 'spark')));
}

function fail(problem: string): void {
  say(problem);
  process.exitCode = 1;
}

async function runExample(): Promise<void> {
  const { stdout } = await runNode([join(root, 'examples/sync.ts')]);
  assert.match(stdout, /^visibility_mentions: complete, verified, \d+ new rows$/m);
  assert.match(stdout, /^visibility_mentions verified$/m);
  say('examples/sync.ts runs');
}

/** Each block as a program of its own, in the folder of a project that was synced. */
async function runPythonOfDocs(bin: string): Promise<void> {
  const world = await makeDocsWorld();
  try {
    const blocks = listMarkdown().flatMap((file) => listBlocks(file, 'python'));
    assert.ok(blocks.length > 0);
    for (const { file, line, text } of blocks) {
      const program = [join(root, 'test/interop/run-block.py'), text, HASH_KEY];
      const child = spawn(join(bin, 'python'), program, {
        cwd: file === 'docs/accounts.md' ? world.accounts : world.project,
        env: { ...env, ...world.env },
      });
      const { exitCode, stdout, stderr } = await waitForOutcome(child);
      assert.equal(exitCode, 0, `${file}:${line}\n${stderr}`);
      // What the page says about the hash is what Sluice does.
      if (file === 'docs/personal-data.md')
        assert.equal(stdout.trim(), hashWithKey(HASH_KEY, 'person@example.com'));
      else assert.notEqual(stdout.trim(), '', `${file}:${line} shows nothing`);
    }
    say(`${blocks.length} Python blocks of the docs run`);
  } finally {
    await world.close();
  }
}

async function runNotebook(bin: string): Promise<void> {
  const config = {
    source: { connector: 'analytics-read', baseUrl: server.baseUrl, apiKey: '${ANALYTICS_API_KEY}' },
    destination: { duckdb: env.SLUICE_WAREHOUSE, parquet: env.SLUICE_LAKE },
    defaults: { freshness: '0s' },
  };
  // JSON is YAML.
  writeFileSync(join(folder, 'sluice.yaml'), JSON.stringify(config));
  await runNode([cliEntry, 'sync', '--no-progress']);

  const target = join(folder, 'quickstart.ipynb');
  const files = [join(root, 'notebooks/quickstart.ipynb'), target];
  let isRunning = true;
  const executed = waitForOutcome(
    spawn(join(bin, 'python'), [join(root, 'test/interop/run-notebook.py'), ...files], {
      env,
      cwd: folder,
    }),
  ).finally(() => (isRunning = false));
  let syncs = 0;
  while (isRunning) {
    simulator.advanceDay();
    await runNode([cliEntry, 'sync', '--no-progress']);
    syncs += 1;
  }
  const { exitCode, stderr } = await executed;
  assert.equal(exitCode, 0, stderr);
  checkOutputs(target);
  const version = spawnSync(join(bin, 'python'), ['-c', 'import duckdb; print(duckdb.__version__)']);
  say(`the notebook runs while ${syncs} syncs replace the file (duckdb ${String(version.stdout).trim()})`);
}

function checkOutputs(file: string): void {
  const notebook = readNotebook(file);
  const expected = {
    open: /visibility_mentions/,
    freshness: /prompts_analytics +│ verified/,
    verdict: /streams in doubt: none/,
    query: /mentions.*sentiment/s,
    newer: /^A newer file after opening it \d+ times: \d+ new rows/,
    lake: /mentions/,
  };
  for (const [id, pattern] of Object.entries(expected)) assert.match(readOutput(notebook, id), pattern);
}

async function runNode(args: readonly string[]): Promise<Outcome> {
  const outcome = await waitForOutcome(
    spawn(process.execPath, ['--no-warnings', ...args], { env, cwd: folder }),
  );
  assert.equal(outcome.exitCode, 0, `${args.join(' ')}\n${outcome.stdout}${outcome.stderr}`);
  return outcome;
}
