import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEMO_KEY } from '../../../src/simulator/simulator-options.ts';
import { root } from '../../deploy/dockerfile.ts';
import { waitForOutcome } from '../../deploy/outcome.ts';
import { makeAccounts } from '../../docs/kit/docs-world.ts';
import { cliEntry } from '../../support/cli-entry.ts';
import type { Interop } from '../part.ts';
import { requirePython } from '../python-environment.ts';

const PACKAGES = ['duckdb==2.0.0', 'pytz==2026.6', 'flit_core==4.2.0', 'mypy==2.4.1'];

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
    say(`the wheel works: ${/Ran \d+ tests/.exec(log)?.[0] ?? log}`);
  } finally {
    await agency.close();
  }
}
