import { strict as assert } from 'node:assert';
import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashWithKey } from '../../../src/model/hash-key.ts';
import { root } from '../../deploy/dockerfile.ts';
import { type Outcome, waitForOutcome } from '../../deploy/outcome.ts';
import { makeDocsWorld } from '../../docs/kit/docs-world.ts';
import { listBlocks, listMarkdown } from '../../docs/markdown.ts';
import { cliEntry } from '../../support/cli-entry.ts';
import { readNotebook, readOutput } from '../notebook.ts';
import type { Interop } from '../part.ts';
import { requirePython } from '../python-environment.ts';

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

/** The TypeScript example, the docs' Python, and the notebook while syncs run. */
export async function proveReaders(interop: Interop): Promise<void> {
  await runExample(interop);
  const bin = requirePython(PACKAGES);
  await runPythonOfDocs(interop, bin);
  await runNotebook(interop, bin);
}

async function runExample(interop: Interop): Promise<void> {
  const { stdout } = await runNode(interop, [join(root, 'examples/sync.ts')]);
  assert.match(stdout, /^visibility_mentions: complete, verified, \d+ new rows$/m);
  assert.match(stdout, /^visibility_mentions verified$/m);
  interop.say('examples/sync.ts runs');
}

/** Each block as a program of its own, in the folder of a project that was synced. */
async function runPythonOfDocs({ env, say }: Interop, bin: string): Promise<void> {
  const world = await makeDocsWorld();
  try {
    // Those for orchestrators are run by them.
    const blocks = listMarkdown()
      .flatMap((file) => listBlocks(file, 'python'))
      .filter(({ text }) => !/^(?:import|from) (?:airflow|dagster|prefect)\b/m.test(text));
    assert.ok(blocks.length > 0);
    for (const { file, line, text } of blocks) {
      const program = [join(root, 'test/interop/run-block.py'), text, HASH_KEY];
      const child = spawn(join(bin, 'python'), program, {
        cwd: file === 'docs/accounts.md' ? world.accounts : world.project,
        // Some of them use our package for Python.
        env: {
          ...env,
          ...world.env,
          PYTHONPATH: join(root, 'python/src'),
          PYTHONDONTWRITEBYTECODE: '1',
          SLUICE_BIN: cliEntry,
        },
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

async function runNotebook(interop: Interop, bin: string): Promise<void> {
  const { folder, env, simulator, say } = interop;
  const config = {
    source: { connector: 'analytics-read', baseUrl: interop.baseUrl, apiKey: '${ANALYTICS_API_KEY}' },
    destination: { duckdb: env['SLUICE_WAREHOUSE'], parquet: env['SLUICE_LAKE'] },
    defaults: { freshness: '0s' },
  };
  // JSON is YAML.
  writeFileSync(join(folder, 'sluice.yaml'), JSON.stringify(config));
  await runNode(interop, [cliEntry, 'sync', '--no-progress']);

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
    await runNode(interop, [cliEntry, 'sync', '--no-progress']);
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

async function runNode({ env, folder }: Interop, args: readonly string[]): Promise<Outcome> {
  const outcome = await waitForOutcome(
    spawn(process.execPath, ['--no-warnings', ...args], { env, cwd: folder }),
  );
  assert.equal(outcome.exitCode, 0, `${args.join(' ')}\n${outcome.stdout}${outcome.stderr}`);
  return outcome;
}
