import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { root } from '../../deploy/dockerfile.ts';
import { waitForOutcome } from '../../deploy/outcome.ts';
import { makeAccounts } from '../../docs/kit/docs-world.ts';
import { cliEntry } from '../../support/cli-entry.ts';
import type { Interop } from '../part.ts';
import { requirePython } from '../python-environment.ts';

/** Those of examples/dbt/README.md: later ones download a parser from elsewhere while they are installed. */
export const DBT_PACKAGES = [
  'dbt-core==1.12.0',
  'dbt-core-experimental-parser==2.0.0a4',
  'dbt-duckdb==1.11.1',
  'duckdb==1.5.5',
];

/** A command of dbt in a project, and how it has to end. */
interface DbtTask {
  readonly says: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly exitCode: number;
  /** Something it has to print. */
  readonly prints: RegExp;
}

const FRESH = /PASS freshness of sluice\.prompts_analytics/;
const BUILT = /PASS=\d+ WARN=0 ERROR=0 SKIP=0/;

/** The project in examples/dbt on a DuckDB file, a lake alone and accounts; on data that is late, and on a key that is there twice. */
export async function proveDbt(interop: Interop): Promise<void> {
  const { folder, say } = interop;
  const bin = requirePython(DBT_PACKAGES);
  const source = { connector: 'analytics-read', baseUrl: interop.baseUrl, apiKey: '${ANALYTICS_API_KEY}' };
  const file = await prepare(interop, 'file', { source, destination: { duckdb: './warehouse.duckdb' } });
  const lake = await prepare(interop, 'lake', { source, destination: { parquet: './lake' } });
  const accounts = join(folder, 'agency');
  const agency = await makeAccounts(accounts);
  const joint = await prepare(interop, 'agency').finally(() => agency.close());
  const warehouse = join(folder, 'file/warehouse.duckdb');
  const spoil = async (name: string, sql: string) => {
    const copy = join(folder, name, 'warehouse.duckdb');
    mkdirSync(join(folder, name));
    copyFileSync(warehouse, copy);
    await change(copy, sql);
    return { SLUICE_WAREHOUSE: copy };
  };
  const late = await spoil(
    'late',
    "UPDATE _sluice.checkpoints SET last_verified_at = last_verified_at - INTERVAL 5 DAYS WHERE stream = 'prompts_analytics'",
  );
  const twice = await spoil('twice', 'INSERT INTO prompts_analytics FROM prompts_analytics LIMIT 1');
  const all = { SLUICE_WAREHOUSE: join(accounts, 'all.duckdb') };
  const isOne = { cwd: file, env: { SLUICE_WAREHOUSE: warehouse } };
  const tasks: readonly DbtTask[] = [
    { says: 'builds on a DuckDB file', args: ['build'], ...isOne, exitCode: 0, prints: BUILT },
    { says: 'finds it fresh', args: ['source', 'freshness'], ...isOne, exitCode: 0, prints: FRESH },
    {
      says: 'fails on data that was not verified for five days',
      args: ['source', 'freshness'],
      cwd: file,
      env: late,
      exitCode: 1,
      prints: /ERROR STALE freshness of sluice\.prompts_analytics/,
    },
    {
      says: 'fails on a key that is there twice',
      args: ['build'],
      cwd: file,
      env: twice,
      exitCode: 1,
      prints: /FAIL 1 source_unique_sluice_prompts_analytics/,
    },
    {
      says: 'builds on a lake alone',
      args: ['build', '--target', 'lake'],
      cwd: lake,
      exitCode: 0,
      prints: BUILT,
    },
    {
      says: 'finds it fresh',
      args: ['source', 'freshness', '--target', 'lake'],
      cwd: lake,
      exitCode: 0,
      prints: FRESH,
    },
    {
      says: 'builds on the file of all accounts',
      args: ['build', '--vars', 'accounts: true'],
      cwd: joint,
      env: all,
      exitCode: 0,
      prints: /visibility_by_account[^]*PASS=\d+ WARN=0 ERROR=0 SKIP=0/,
    },
    {
      says: 'finds it fresh',
      args: ['source', 'freshness', '--vars', 'accounts: true'],
      cwd: joint,
      env: all,
      exitCode: 0,
      prints: FRESH,
    },
  ];
  const printed = await runDbt(interop, bin, tasks);
  for (const [index, { says, exitCode, prints }] of tasks.entries()) {
    const [, output = '', code] = /^([^]*)\n== exit (\d+)$/.exec(printed[index] ?? '') ?? [];
    assert.equal(Number(code), exitCode, `dbt ${says}\n${output}`);
    assert.match(output, prints, `dbt ${says}`);
    say(`dbt ${says}`);
  }
}

/** Syncs a project, and exports its sources into a copy of the example; returns the copy. */
async function prepare(interop: Interop, name: string, config?: object): Promise<string> {
  const project = join(interop.folder, name);
  mkdirSync(project, { recursive: true });
  // JSON is YAML.
  if (config !== undefined) writeFileSync(join(project, 'sluice.yaml'), JSON.stringify(config));
  const target = join(project, 'dbt');
  cpSync(join(root, 'examples/dbt'), target, { recursive: true });
  for (const args of [
    ['sync', '--no-progress'],
    ['schema', 'export', '--format', 'dbt', '--output', 'dbt/models/sources.yml', '--force'],
  ]) {
    const child = spawn(process.execPath, ['--no-warnings', cliEntry, ...args], {
      cwd: project,
      env: interop.env,
    });
    const { exitCode, stdout, stderr } = await waitForOutcome(child);
    assert.equal(exitCode, 0, `${args.join(' ')}\n${stdout}${stderr}`);
  }
  return target;
}

/** Runs commands one after the other; returns what each printed, with its exit code in the last line. */
async function runDbt(
  { env, folder }: Interop,
  bin: string,
  tasks: readonly DbtTask[],
): Promise<readonly string[]> {
  const list = tasks.map(({ args, cwd, env: own = {} }) => ({
    args: ['--no-use-colors', '--no-send-anonymous-usage-stats', ...args, '--profiles-dir', '.'],
    cwd,
    env: own,
  }));
  const child = spawn(join(bin, 'python'), [join(root, 'test/interop/run-dbt.py'), JSON.stringify(list)], {
    env,
    cwd: folder,
  });
  const { exitCode, stdout, stderr } = await waitForOutcome(child);
  assert.equal(exitCode, 0, `${stdout}${stderr}`);
  return stdout.split(/(?<=\n== exit \d+)\n/);
}

async function change(file: string, sql: string): Promise<void> {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  await connection.run(sql);
  connection.closeSync();
  instance.closeSync();
}
