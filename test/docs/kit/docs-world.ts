import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startSimulatorServer } from '../../../src/simulator/server.ts';
import { createSimulator } from '../../../src/simulator/simulator.ts';
import { DEMO_KEY, type Reshape } from '../../../src/simulator/simulator-options.ts';
import { appendRunFile } from '../../../state/run-file.ts';
import { makeRun } from '../../state/make-run.ts';
import { cliEntry } from '../../support/cli-entry.ts';
import { findExtensions } from '../../support/lake-servers.ts';
import { listBlocks } from '../markdown.ts';
import { type LineEnd, runLine } from './run-in-process.ts';

const BASE_URL = 'https://analytics.example.com/api/v1';
const UNLIMITED = { requestsPerHour: 1_000_000, burstPerSecond: 100_000 };
/** Programs that a page runs and that are not ours: `foreign-program.ts` looks at what they are asked to do. */
const FOREIGN = [
  ...[
    'curl',
    'dbt',
    'docker',
    'git',
    'helm',
    'install',
    'kubectl',
    'mkfs.btrfs',
    'mount',
    'npm',
    'openssl',
    'pg_dump',
    'pip',
    'promtool',
  ],
  ...['systemctl', 'target-jsonl', 'truncate', 'useradd', 'vi'],
];
/** Folders of another machine that pages name. */
const ROOTS = ['/tmp/', '/var/', '/etc/', '/srv/', '/opt/', '/mnt/', '/run/'];

/** A synced project, its API, and the machine that the pages speak of. */
export interface DocsWorld {
  readonly folder: string;
  /** Where the pages' commands run: config, contracts, DuckDB file and lake are there. */
  readonly project: string;
  /** The same for commands about accounts: two in the config, and one that was removed from it. */
  readonly accounts: string;
  readonly env: NodeJS.ProcessEnv;
  /** A text of the docs with this world's address, key, folders and ids in place of the examples'. */
  settle(text: string): string;
  /** Runs `sluice <args>` in the project. */
  run(args: readonly string[]): Promise<LineEnd>;
  close(): Promise<void>;
}

/** Makes what the pages suppose: a first sync done, a contract in place, records in quarantine, a named run. */
export async function makeDocsWorld(): Promise<DocsWorld> {
  const folder = mkdtempSync(path.join(tmpdir(), 'sluice-docs-'));
  const server = await startSimulatorServer(
    createSimulator({
      keys: [DEMO_KEY],
      rateLimit: UNLIMITED,
      sizes: { historyDays: 10, prompts: 12, mentionsPerDay: 5, categories: 3, productsPerCategory: 10 },
      reshape: { 'prompts/analytics': exceedScore },
      endpoints: { 'my/endpoint': { paginated: true, records: () => [{ id: 1 }, { id: 2 }] } },
    }),
  );
  const project = path.join(folder, 'project');
  const home = path.join(folder, 'home');
  const theirs = ['var/www', 'var/lib/node_exporter', 'srv/analytics', 'opt/sluice/node_modules'];
  for (const place of [
    ...ROOTS,
    ...theirs,
    'project/contracts',
    'project/models',
    'project/examples/dbt/models',
    'home',
  ])
    mkdirSync(path.join(folder, place), { recursive: true });
  symlinkSync(makePrograms(folder), path.join(folder, 'opt/sluice/node_modules/.bin'));

  const [contract] = listBlocks('docs/contracts.md', 'json');
  writeFileSync(path.join(project, 'contracts/prompts_analytics.schema.json'), contract?.text ?? '');
  const config = JSON.stringify({
    source: { connector: 'analytics-read', baseUrl: server.baseUrl, apiKey: '${ANALYTICS_API_KEY}' },
    destination: { duckdb: './warehouse.duckdb', parquet: './lake' },
    defaults: { freshness: '0s' },
    engine: { extensionDirectory: findExtensions() },
    streams: {
      prompts_analytics: { history: true },
      my_endpoint: { path: 'my/endpoint', paginated: true },
    },
  });
  // JSON is YAML.
  for (const place of ['project', 'etc', 'srv/analytics'])
    writeFileSync(path.join(folder, place, 'sluice.yaml'), config);

  writeClientFiles(project);

  const accounts = path.join(folder, 'accounts');
  const agency = await makeAccounts(accounts);

  const env = {
    PATH: `${path.join(folder, 'bin')}${path.delimiter}${process.env['PATH'] ?? ''}`,
    HOME: home,
    TMPDIR: path.join(folder, 'tmp'),
    ANALYTICS_API_KEY: DEMO_KEY,
    DOCS_CLI: cliEntry,
    DOCS_BASE_URL: server.baseUrl,
    // Its quota is that of the simulated API, and so is the ledger.
    XDG_STATE_HOME: path.join(folder, 'quota'),
  };
  const run = (args: readonly string[]) => runLine(args, { cwd: project, env });
  const first = await run(['sync', '--run-id', 'nightly-2026-01-31', '--no-progress']);
  const all = await runLine(['sync', '--no-progress'], { cwd: accounts, env });
  for (const { exitCode, stdout, stderr } of [first, all])
    if (exitCode !== 0) throw new Error(`a first sync of the world failed\n${stdout}${stderr}`);
  const [held] = await listQuarantined(run);

  return {
    folder,
    project,
    accounts,
    env,
    run,
    settle: (text) => {
      const local = text
        .replaceAll(BASE_URL, server.baseUrl)
        .replaceAll('ANALYTICS_API_KEY=…', `ANALYTICS_API_KEY=${DEMO_KEY}`)
        .replaceAll('3fa94c17b2', held?.id ?? 'none')
        // Any free port.
        .replaceAll('--metrics-port 9464', '--metrics-port 0');
      return ROOTS.reduce(
        (settled, name) => settled.replaceAll(new RegExp(`(?<=[\\s"'=])${name}`, 'g'), `${folder}${name}`),
        local,
      );
    },
    close: async () => {
      await server.close();
      await agency.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** What programs of Airbyte and Singer hand over. */
function writeClientFiles(project: string): void {
  const write = (name: string, value: object) =>
    writeFileSync(path.join(project, name), JSON.stringify(value));
  const connection = { config_path: path.join(project, 'sluice.yaml') };
  write('connection.json', connection);
  write('config.json', connection);
  const stream = { name: 'my_endpoint', json_schema: {}, supported_sync_modes: ['full_refresh'] };
  write('catalog.json', {
    streams: [{ stream, sync_mode: 'full_refresh', destination_sync_mode: 'overwrite' }],
  });
  write('state.json', {});
}

export const ACCOUNTS: readonly string[] = ['acme', 'globex'];
/** Accounts that the config no longer has: one for each page that removes one. */
const REMOVED = ['old-client', 'initech'];

/** A project of accounts, each with a key and records of its own, and their API. */
export async function makeAccounts(
  project: string,
  names: readonly string[] = ACCOUNTS,
  more: Readonly<Record<string, unknown>> = {},
): Promise<{ close(): Promise<void> }> {
  const keys = names.map((name) => ({ name, key: `${DEMO_KEY}-${name}` }));
  const sizes = { historyDays: 4, prompts: 4, mentionsPerDay: 2, categories: 2, productsPerCategory: 3 };
  const server = await startSimulatorServer(createSimulator({ accounts: keys, rateLimit: UNLIMITED, sizes }));
  mkdirSync(path.join(project, 'keys'), { recursive: true });
  for (const { name, key } of keys) writeFileSync(path.join(project, 'keys', name), key, { mode: 0o600 });
  for (const name of REMOVED) {
    const state = path.join(project, '.sluice', name);
    mkdirSync(state, { recursive: true });
    appendRunFile(state, makeRun());
  }
  const config = {
    source: { connector: 'analytics-read', baseUrl: server.baseUrl, apiKey: '${file:./keys/${account}}' },
    destination: {
      duckdb: './accounts/${account}.duckdb',
      parquet: './lake/account=${account}',
      combined: './all.duckdb',
    },
    accounts: Object.fromEntries(names.map((name) => [name, {}])),
    ...more,
  };
  writeFileSync(path.join(project, 'sluice.yaml'), JSON.stringify(config));
  return server;
}

/** Three records of the newest day have a score that docs/contracts.md does not allow. */
const exceedScore: Reshape = (records) =>
  records.map((record, index) =>
    index < records.length - 3 ? record : { ...(record as object), visibilityScore: 101 + index },
  );

async function listQuarantined(run: DocsWorld['run']): Promise<readonly { readonly id: string }[]> {
  const { stdout } = await run(['quarantine', 'list', '--json']);
  const { result } = JSON.parse(stdout) as {
    readonly result: { readonly records: readonly { id: string }[] };
  };
  return result.records;
}

/** A folder of programs for the PATH: ours, and what stands for those of others. */
function makePrograms(folder: string): string {
  const bin = path.join(folder, 'bin');
  mkdirSync(bin);
  symlinkSync(process.execPath, path.join(bin, 'node'));
  const write = (name: string, file: string, first = '') => {
    const script = path.join(import.meta.dirname, file);
    writeFileSync(
      path.join(bin, name),
      `#!/bin/sh\nexec "${process.execPath}" --no-warnings "${script}" ${first} "$@"\n`,
    );
    chmodSync(path.join(bin, name), 0o755);
  };
  write('sluice', 'documented-command.ts');
  write('npx', 'documented-command.ts', 'npx');
  write('source-sluice', 'documented-command.ts', 'airbyte');
  write('tap-sluice', 'documented-command.ts', 'singer');
  for (const name of FOREIGN) write(name, 'foreign-program.ts', name);
  return bin;
}
