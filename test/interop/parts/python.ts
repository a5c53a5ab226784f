import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEMO_KEY } from '../../../src/simulator/simulator-options.ts';
import { root } from '../../deploy/dockerfile.ts';
import { waitForOutcome } from '../../deploy/outcome.ts';
import { makeAccounts } from '../../docs/kit/docs-world.ts';
import { cliEntry } from '../../support/cli-entry.ts';
import { readNotebook, readOutput } from '../notebook.ts';
import type { Interop } from '../part.ts';
import { requirePython } from '../python-environment.ts';

const PACKAGES = [
  'duckdb==2.0.0',
  'pytz==2026.6',
  'flit_core==4.2.0',
  'mypy==2.4.1',
  'nbclient==0.11.0',
  'nbformat==5.11.1',
  'ipykernel==7.4.0',
];
/** Cells of a notebook, by what they show. */
const CELLS = {
  sync: 'import sluice\nreport = sluice.sync()\nprint([(one.stream, one.verdict) for one in report.streams])',
  query: 'con = sluice.connect("sluice.yaml")\nprint(con.sql("FROM prompts_analytics LIMIT 3"))',
  newer:
    'sluice.sync(force=True)\nsluice.refresh(con)\nprint(con.sql("SELECT count(*) > 0 FROM prompts_analytics").fetchall())',
};

/** The Python package as a wheel, against the built command line and a simulated API. */
export async function provePython(interop: Interop): Promise<void> {
  const { folder, say, env, baseUrl } = interop;
  const python = join(requirePython(PACKAGES), 'python');
  const source = join(folder, 'package');
  cpSync(join(root, 'python'), source, { recursive: true });
  const run = async (args: readonly string[], more: NodeJS.ProcessEnv = {}) => {
    const child = spawn(python, args, { cwd: source, env: { ...env, ...more } });
    const { exitCode, stdout, stderr } = await waitForOutcome(child);
    assert.equal(exitCode, 0, `${args.join(' ')}\n${stdout}${stderr}`);
    return `${stdout}${stderr}`;
  };
  await run(['-m', 'mypy', '--cache-dir', join(folder, 'mypy')]);

  // What is installed is the wheel, in a folder of its own.
  const site = join(folder, 'site');
  const pip = ['-m', 'pip', '--disable-pip-version-check', '--quiet'];
  await run([...pip, 'wheel', '--no-build-isolation', '--no-deps', '--wheel-dir', folder, '.']);
  const wheel = readdirSync(folder).find((name) => name.endsWith('.whl'));
  assert.match(wheel ?? '', /^sluice-.*-none-any\.whl$/);
  await run([...pip, 'install', '--no-deps', '--no-index', '--target', site, join(folder, wheel ?? '')]);

  const project = join(folder, 'project');
  mkdirSync(project);
  const config = {
    source: { connector: 'analytics-read', baseUrl, apiKey: '${ANALYTICS_API_KEY}' },
    destination: { duckdb: './warehouse.duckdb', parquet: './lake' },
    defaults: { freshness: '0s' },
  };
  writeFileSync(join(project, 'sluice.yaml'), JSON.stringify(config));
  const agency = await makeAccounts(join(folder, 'accounts'));
  try {
    const log = await run(['-m', 'unittest', 'discover', '-s', 'tests', '-v'], {
      PYTHONPATH: site,
      SLUICE_BIN: cliEntry,
      SLUICE_PROJECT: project,
      SLUICE_ACCOUNTS_PROJECT: join(folder, 'accounts'),
      NODE_NO_WARNINGS: '1',
    });
    assert.doesNotMatch(log, new RegExp(DEMO_KEY));
    await runNotebook(python, project, {
      ...env,
      PYTHONPATH: site,
      SLUICE_BIN: cliEntry,
      NODE_NO_WARNINGS: '1',
    });
    say(`the wheel works, in a notebook too: ${/Ran \d+ tests/.exec(log)?.[0] ?? log}`);
  } finally {
    await agency.close();
  }
}

async function runNotebook(python: string, project: string, env: NodeJS.ProcessEnv): Promise<void> {
  const cells = Object.entries(CELLS).map(([id, source]) => ({
    cell_type: 'code',
    id,
    metadata: {},
    source,
    execution_count: null,
    outputs: [],
  }));
  const metadata = { kernelspec: { name: 'python3', display_name: 'Python 3' } };
  const [from, to] = [join(project, 'from.ipynb'), join(project, 'to.ipynb')];
  writeFileSync(from, JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata, cells }));
  const program = [join(root, 'test/interop/run-notebook.py'), from, to];
  const { exitCode, stderr } = await waitForOutcome(spawn(python, program, { cwd: project, env }));
  assert.equal(exitCode, 0, stderr);
  const notebook = readNotebook(to);
  assert.match(readOutput(notebook, 'sync'), /'prompts_analytics', 'verified'/);
  assert.match(readOutput(notebook, 'query'), /prompt_id/);
  assert.match(readOutput(notebook, 'newer'), /True/);
}
