import type { ChildProcess } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConfigInput } from '../../src/model/config.ts';
import { type SimulatorServer, startSimulatorServer } from '../../src/simulator/server.ts';
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { DEMO_KEY, type SimulatorOptions } from '../../src/simulator/simulator-options.ts';
import { cliEntry } from './cli-entry.ts';
import { type ProcessEnd, startNode, waitForEnd } from './run-node.ts';
import { buildConfig, type FlowConfig, makeFolder, noBuiltIns, unlimited } from './sync-harness.ts';

/** A project in a folder of its own with a server of its own, for the command line as a process. */
export interface ChildProject {
  readonly folder: string;
  readonly duckdb: string;
  readonly stateDir: string;
  /** What its `sluice.yaml` says, with the key in it. */
  readonly config: ConfigInput;
  readonly simulator: Simulator;
  readonly server: SimulatorServer;
  /** Writes `sluice.yaml` again, for a test that empties the folder. */
  writeConfig(): void;
  /** Starts `sluice <args>`; `preload` is a module that is loaded before it. */
  start(args: readonly string[], options?: ChildOptions): ChildProcess;
  run(args: readonly string[], options?: ChildOptions): Promise<ProcessEnd>;
}

export interface ChildOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly preload?: string;
  /** A command that starts it, e.g. `['strace', '-f']`. */
  readonly within?: readonly string[];
}

export interface ChildProjectOptions {
  /** Records of the one endpoint, `items`. */
  readonly records: readonly unknown[];
  readonly simulator?: SimulatorOptions;
  readonly config?: FlowConfig;
  readonly stream?: NonNullable<FlowConfig['streams']>[string];
  readonly folder?: string;
  readonly ledgerDir?: string;
}

/** Makes the project; the caller closes its server. */
export async function createChildProject(options: ChildProjectOptions): Promise<ChildProject> {
  // The same name for each: it is part of the names of steps.
  const { records, stream, folder = join(makeFolder(), 'project') } = options;
  mkdirSync(folder, { recursive: true });
  const simulator = createSimulator({
    builtIns: false,
    rateLimit: unlimited,
    ...options.simulator,
    endpoints: { items: { paginated: true, dateField: 'date', records: () => records } },
  });
  const server = await startSimulatorServer(simulator);
  const duckdb = join(folder, 'warehouse.duckdb');
  const stateDir = join(folder, 'state');
  const ledgerDir = options.ledgerDir ?? join(folder, 'quota');
  const config = buildConfig(
    { duckdbPath: duckdb, stateDir, ledgerDir },
    {
      source: { baseUrl: server.baseUrl },
      streams: { ...noBuiltIns, items: { path: 'items', paginated: true, ...stream } },
    },
    options.config,
  );
  const file = join(folder, 'sluice.yaml');
  const written = { ...config, source: { ...config.source, apiKey: '${ANALYTICS_API_KEY}' } };
  // JSON is YAML.
  const writeConfig = () => writeFileSync(file, JSON.stringify(written));
  writeConfig();

  function start(
    args: readonly string[],
    { env, cwd, preload, within = [] }: ChildOptions = {},
  ): ChildProcess {
    return startNode(cliEntry, args, {
      cwd: cwd ?? folder,
      within,
      env: {
        SLUICE_CONFIG: file,
        ANALYTICS_API_KEY: DEMO_KEY,
        NO_COLOR: '1',
        ...(preload !== undefined && { NODE_OPTIONS: `--no-warnings --import=${preload}` }),
        ...env,
      },
    });
  }
  return {
    folder,
    duckdb,
    stateDir,
    config,
    simulator,
    server,
    writeConfig,
    start,
    run: (args, childOptions) => waitForEnd(start(args, childOptions)),
  };
}
