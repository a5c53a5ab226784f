import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { DEMO_KEY } from '../../../src/simulator/simulator-options.ts';
import { waitForOutcome } from '../../deploy/outcome.ts';
import { makeAccounts } from '../../docs/kit/docs-world.ts';
import { cliEntry } from '../../support/cli-entry.ts';
import type { Interop } from '../part.ts';

/** Statements that must not get through, whatever the file is that they are run over. */
const HOSTILE = [
  `FROM read_csv('/etc/passwd')`,
  `FROM read_text('/etc/passwd')`,
  `FROM '/etc/passwd'`,
  `FROM glob('/*')`,
  `SELECT getenv('HOME')`,
  `SELECT 1; SELECT 2`,
  `SET threads = 1`,
  `ATTACH '/tmp/x.duckdb'`,
  'INSTALL httpfs',
  'LOAD httpfs',
  'PRAGMA database_list',
  'CREATE TEMP TABLE x AS SELECT 1',
  'DROP TABLE prompts_analytics',
  'FROM enable_profiling()',
  `FROM query('FROM enable_' || 'profiling()')`,
];
const ENDLESS = `SELECT sum(a.i * b.i * c.i) FROM range(1000000) a(i), range(1000000) b(i), range(1000000) c(i)`;

const PATIENCE_MS = 600_000;

interface Answer {
  readonly isError: boolean;
  readonly text: string;
}

/** A client of the SDK with the built command line: every tool, hostile statements, and syncs meanwhile. */
export async function proveMcp(interop: Interop): Promise<void> {
  try {
    await readEverything(interop);
  } finally {
    // A client that stays open would keep its server, and this process.
    await Promise.all([...open].map((client) => client.close()));
  }
}

const open = new Set<Client>();

async function readEverything(interop: Interop): Promise<void> {
  const { folder, simulator, say, baseUrl } = interop;
  const config = join(folder, 'sluice.yaml');
  const source = { connector: 'analytics-read', baseUrl, apiKey: '${ANALYTICS_API_KEY}' };
  const places = { duckdb: join(folder, 'warehouse.duckdb'), parquet: join(folder, 'lake') };
  const defaults = { freshness: '0s' };
  writeFileSync(config, JSON.stringify({ source, destination: places, defaults }));
  await runSluice(interop, ['sync', '-c', config, '--no-progress']);

  const { call, client, log } = await connect(interop, ['-c', config]);
  const before = await countPrompts(call);
  assert.ok(before > 0);
  assert.match((await call('list_tables')).text, /"table":"prompts_analytics".*"schema":"_sluice"/s);
  assert.match((await call('describe_table', { table: 'Prompts_Analytics' })).text, /"type":"VARCHAR"/);
  assert.match((await call('describe_table', { table: 'runs', schema: '_sluice' })).text, /run_id/);
  assert.match((await call('read_status')).text, /"verdict":"verified"/);
  const [run] = JSON.parse((await call('list_runs')).text) as readonly { readonly runId: string }[];
  assert.match((await call('list_runs', { run_id: run?.runId })).text, /"streams":\[\{"stream"/);
  assert.match((await call('list_quarantine', { records: 5 })).text, /"total":0/);

  const out = join(folder, 'out');
  mkdirSync(out);
  for (const sql of [...HOSTILE, `COPY (SELECT 1) TO '${out}/x.csv'`, `EXPORT DATABASE '${out}/e'`]) {
    const { isError, text } = await call('query', { sql });
    assert.ok(isError, `${sql}\n${text}`);
    assert.match(text, /"hint":/);
  }
  assert.equal(existsSync(join(out, 'x.csv')), false);
  const hasty = await connect(interop, ['-c', config, '--call-timeout', '2s']);
  assert.match(
    (await hasty.call('query', { sql: ENDLESS })).text,
    /took longer than 2 s, so it was cancelled/,
  );
  await hasty.client.close();
  const exact = await call('query', { sql: `SELECT 9007199254740993 AS n, chr(8238) || 'a' AS t` });
  assert.match(exact.text, /\{"n":"9007199254740993","t":"\\u202ea"\}/);

  simulator.advanceDay();
  await runSluice(interop, ['sync', '-c', config, '--no-progress']);
  assert.ok((await countPrompts(call)) > before);
  await client.close();
  assert.doesNotMatch(log(), new RegExp(DEMO_KEY));
  say('a client reads tables, status and runs; a sync in between is seen; nothing else gets through');

  await readLake(interop, places.parquet);
  await readAccounts(interop);
  await endWithClient(config);
}

/** Over a lake, the engine has access to its folder. */
async function readLake(interop: Interop, lake: string): Promise<void> {
  const config = join(interop.folder, 'lake.yaml');
  const source = { connector: 'analytics-read', baseUrl: interop.baseUrl, apiKey: 'not-needed' };
  const stateDir = join(interop.folder, '.sluice');
  writeFileSync(config, JSON.stringify({ source, destination: { parquet: lake }, stateDir }));
  const { call, client } = await connect(interop, ['-c', config]);
  assert.ok((await countPrompts(call)) > 0);
  const { isError } = await call('query', {
    sql: `FROM enable_logging(storage = 'file', storage_path = '${lake}/logs')`,
  });
  assert.ok(isError);
  assert.equal(existsSync(join(lake, 'logs')), false);
  await client.close();
}

/** Two accounts, of which one has synced. */
async function readAccounts(interop: Interop): Promise<void> {
  const { folder, say } = interop;
  const project = join(folder, 'accounts');
  const server = await makeAccounts(project);
  const config = join(project, 'sluice.yaml');
  try {
    await runSluice(interop, ['sync', '-c', config, '--accounts', 'acme', '--no-progress']);
  } finally {
    await server.close();
  }
  const all = await connect(interop, ['-c', config]);
  assert.match((await all.call('list_tables')).text, /prompts_analytics/);
  assert.match((await all.call('describe_table', { table: 'prompts_analytics' })).text, /"column":"account"/);
  const { text } = await all.call('query', {
    sql: 'SELECT DISTINCT account FROM prompts_analytics',
  });
  assert.match(text, /\{"account":"acme"\}.*Not published yet, so without rows here: globex/s);
  assert.match(
    (await all.call('read_status')).text,
    /"account":"(?:acme|globex)".*"account":"(?:acme|globex)"/s,
  );
  assert.match((await all.call('read_status', { account: 'nobody' })).text, /nobody/);
  await all.client.close();
  const one = await connect(interop, ['-c', config, '--accounts', 'acme']);
  assert.match((await one.call('query', { sql: 'FROM _sluice.runs', account: 'globex' })).text, /not show/);
  await one.client.close();
  say('accounts are read together, and one of them alone');
}

async function endWithClient(config: string): Promise<void> {
  const start = () => spawn(process.execPath, ['--no-warnings', cliEntry, 'mcp', '-c', config]);
  const closed = start();
  const outcome = waitForOutcome(closed);
  closed.stdin.end();
  assert.deepEqual(await outcome, {
    exitCode: 0,
    stdout: '',
    stderr: `MCP server on stdin and stdout for ${config}\n`,
  });
  const stopped = start();
  await once(stopped.stderr, 'data');
  stopped.kill('SIGTERM');
  const [code] = (await once(stopped, 'close')) as [number | null];
  assert.equal(code, 143);
}

async function connect(
  { env, folder }: Interop,
  args: readonly string[],
): Promise<{
  readonly call: (name: string, given?: Readonly<Record<string, unknown>>) => Promise<Answer>;
  readonly client: Client;
  readonly log: () => string;
}> {
  // It has to work without a key.
  const kept = Object.entries(env).flatMap(([name, value]): [string, string][] =>
    value === undefined || name === 'ANALYTICS_API_KEY' ? [] : [[name, value]],
  );
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ['--no-warnings', cliEntry, 'mcp', ...args],
    // A busy machine is not a fault, unless an option says so.
    env: { SLUICE_CALL_TIMEOUT: '1h', ...Object.fromEntries(kept) },
    cwd: folder,
    stderr: 'pipe',
  });
  let log = '';
  transport.stderr?.on('data', (chunk) => (log += String(chunk)));
  const client = new Client({ name: 'sluice-proof', version: '1.0.0' });
  open.add(client);
  await client.connect(transport, { timeout: PATIENCE_MS });
  assert.match(client.getInstructions() ?? '', /stream_runs/);
  const call = async (name: string, given: Readonly<Record<string, unknown>> = {}): Promise<Answer> => {
    const { content, isError } = await client.callTool(
      { name, arguments: { ...given } },
      { timeout: PATIENCE_MS },
    );
    const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    return { isError: isError === true, text };
  };
  return { call, client, log: () => log };
}

async function countPrompts(
  call: (name: string, given: Readonly<Record<string, unknown>>) => Promise<Answer>,
): Promise<number> {
  const { text } = await call('query', { sql: 'SELECT count(*) AS n FROM prompts_analytics' });
  return Number(/\{"n":(\d+)\}/.exec(text)?.[1]);
}

async function runSluice({ env, folder }: Interop, args: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, ['--no-warnings', cliEntry, ...args], { env, cwd: folder });
  const { exitCode, stdout, stderr } = await waitForOutcome(child);
  assert.equal(exitCode, 0, `${stdout}${stderr}`);
}
