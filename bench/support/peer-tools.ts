import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { DuckDBInstance } from '@duckdb/node-api';
import { quoteLiteral } from '../../src/warehouse/identifiers.ts';
import { makePythonEnvironment, type PythonEnvironment } from '../../test/interop/python-environment.ts';
import type { Build } from './build.ts';
import type { Command } from './measured-commands.ts';

const execute = promisify(execFile);

/** Where a tool reads, and the empty folder in which it leaves what it reads. */
export interface PeerPlace {
  readonly origin: string;
  readonly folder: string;
}

/** What is in a tool's table. */
export interface Left {
  readonly rows: number;
  /** Different ones, by the key. */
  readonly keys: number;
  /** Of the packages that the tool consists of. */
  readonly versions: Readonly<Record<string, string>>;
}

/** A tool that is measured next to the others. */
export interface PeerTool {
  readonly name: string;
  /** Of more than one, the output of each is read by the next. */
  readonly commands: (place: PeerPlace) => readonly Command[];
  /** Left out where nothing is kept. */
  readonly count?: (folder: string) => Promise<Left>;
}

/** A tool, or why it cannot be run here. */
export type Peer = PeerTool | { readonly name: string; readonly problem: string };

/** What is to be measured, and the Python that does it; undefined where there is none. */
export interface PreparedPeers {
  readonly python: string | undefined;
  readonly floor: PeerTool;
  readonly sluice: PeerTool;
  readonly others: readonly Peer[];
}

interface PythonPeer {
  readonly name: string;
  /** Each with its exact version. */
  readonly packages: readonly string[];
  /** Those whose versions are told. */
  readonly told: readonly string[];
  readonly commands: (bin: string, place: PeerPlace) => readonly Command[];
}

/** What every tool leaves in its folder. */
const WAREHOUSE = 'warehouse.duckdb';

const findScript = (name: string) => resolve(import.meta.dirname, '../peers', name);

const pythonPeers: readonly PythonPeer[] = [
  {
    name: 'dlt (Parquet, no nesting, merge)',
    packages: ['dlt[duckdb,parquet]==1.31.0', 'duckdb==2.0.0', 'pyarrow==25.0.0'],
    told: ['dlt', 'duckdb'],
    commands: (bin, { origin, folder }) => [[join(bin, 'python'), findScript('run-dlt.py'), origin, folder]],
  },
  {
    name: 'PyAirbyte (manifest, merge)',
    // As the interop proof has it, so that both use one environment.
    packages: ['airbyte==0.71.3'],
    told: ['airbyte', 'airbyte-cdk', 'duckdb'],
    commands: (bin, { origin, folder }) => [
      [join(bin, 'python'), findScript('run-pyairbyte.py'), origin, folder],
    ],
  },
  {
    name: 'singer-sdk, target-duckdb',
    packages: ['singer-sdk==0.54.9', 'target-duckdb==0.8.0', 'duckdb==2.0.0'],
    told: ['singer-sdk', 'target-duckdb', 'duckdb'],
    commands: (bin, { origin, folder }) => {
      const [tap, target] = [join(folder, 'tap.json'), join(folder, 'target.json')];
      writeFileSync(tap, JSON.stringify({ origin }));
      writeFileSync(target, JSON.stringify({ path: join(folder, WAREHOUSE), default_target_schema: 'raw' }));
      return [
        [join(bin, 'python'), findScript('tap-pages.py'), '--config', tap],
        [join(bin, 'target-duckdb'), '--config', target],
      ];
    },
  },
];

/** The tools for so many rows. Makes the Python environments that are not there yet, which takes minutes. */
export function preparePeers({ script }: Build, rows: number): PreparedPeers {
  const node = (name: string, values: readonly string[]): Command => [
    process.execPath,
    '--no-warnings',
    script(name),
    ...values,
  ];
  const environments = pythonPeers.map(({ packages }) => tryEnvironment(packages));
  const [bin] = environments.flatMap((one) => ('bin' in one ? [one.bin] : []));
  return {
    python: bin && join(bin, 'python'),
    floor: {
      name: 'floor: fetch, `JSON.parse`, zod',
      commands: ({ origin }) => [node('floor', [origin, String(rows), 'nested'])],
    },
    sluice: {
      name: 'Sluice',
      commands: ({ origin, folder }) => [node('sync-once', [origin, folder])],
      count: countOwn,
    },
    others: pythonPeers.map((peer, at) => equip(peer, environments[at])),
  };
}

function tryEnvironment(packages: readonly string[]): PythonEnvironment {
  if (process.platform === 'win32')
    return { problem: 'Windows does not tell what a process and its children used' };
  return makePythonEnvironment(packages);
}

function equip({ name, told, commands }: PythonPeer, environment: PythonEnvironment | undefined): Peer {
  if (environment === undefined || 'problem' in environment)
    return { name, problem: environment?.problem ?? 'there is no environment' };
  const { bin } = environment;
  return {
    name,
    commands: (place) => commands(bin, place),
    count: async (folder) => {
      // Its own DuckDB is sure to read the file.
      const { stdout } = await execute(join(bin, 'python'), [
        findScript('count-rows.py'),
        join(folder, WAREHOUSE),
        'raw.items',
        ...told,
      ]);
      return JSON.parse(stdout) as Left;
    },
  };
}

async function countOwn(folder: string): Promise<Left> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  try {
    await connection.run(`ATTACH ${quoteLiteral(join(folder, WAREHOUSE))} AS held (READ_ONLY)`);
    const reader = await connection.runAndReadAll(
      'SELECT count(*) AS rows, count(DISTINCT (id, date)) AS keys FROM held.items',
    );
    const [row] = reader.getRowObjects();
    return { rows: Number(row?.['rows']), keys: Number(row?.['keys']), versions: {} };
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
