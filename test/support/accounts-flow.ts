import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultEngine } from '../../src/cli/default-engine.ts';
import type { Engine } from '../../src/cli/frame/engine.ts';
import { runCli } from '../../src/cli/run-cli.ts';
import { createOutput } from '../../src/cli/terminal/output.ts';
import type { AccountsReport } from '../../src/model/accounts-report.ts';
import type { SimulatedAccount } from '../../src/simulator/accounts.ts';
import type { SimulatorOptions } from '../../src/simulator/simulator-options.ts';
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { type PlainRow, queryCopy, sortRows } from './published.ts';
import { DAY_MS, makeFolder, START_MS, unlimited } from './sync-harness.ts';
import { createSimulatorTransport } from './simulator-transport.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

/** Small enough that an account is synced in a dozen requests. */
const SIZES = { historyDays: 10, prompts: 20, mentionsPerDay: 4, categories: 4, productsPerCategory: 12 };

/** The tables of the streams that every account has. */
export const TABLES = [
  'visibility_mentions',
  'prompts_analytics',
  'commerce_category_products',
  'commerce_top_products',
] as const;

export interface AccountsFlowOptions {
  readonly names: readonly string[];
  readonly revoked?: readonly string[];
  /** What the config says of accounts; `{}` for each that is left out. */
  readonly own?: Readonly<Record<string, unknown>>;
  /** More of the config. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly accounts?: readonly Partial<SimulatedAccount>[];
  readonly simulator?: SimulatorOptions;
  readonly folder?: string;
}

/** A project with several accounts, on a virtual clock, whose commands run in this process. */
export interface AccountsFlow {
  readonly folder: string;
  readonly clock: VirtualClock;
  readonly simulator: Simulator;
  /** What its commands use, unless a line is given more. */
  readonly engine: Engine;
  run(args: readonly string[], options?: LineOptions): Promise<AccountsLine>;
  /** The same for `sync --json`. */
  sync(args?: readonly string[], options?: LineOptions): Promise<AccountsReport>;
  /** Rows of an account's published table, in the order of their values, without our own columns. */
  rows(account: string, table: string): Promise<readonly PlainRow[]>;
  isPublished(account: string): boolean;
  /** Writes the config again, with these accounts and what they say for themselves. */
  writeConfig(names: readonly string[], own?: Readonly<Record<string, unknown>>): void;
  /** Writes the config again with this address, for commands that are processes of their own. */
  serve(baseUrl: string): void;
  /** One account alone, synced from nothing: what a clean run gives. */
  clean(account: string): Promise<AccountsFlow>;
}

export interface LineOptions {
  readonly signal?: AbortSignal;
  readonly engine?: Partial<Engine>;
}

export interface AccountsLine {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export function createAccountsFlow(options: AccountsFlowOptions): AccountsFlow {
  const { names, revoked = [] } = options;
  const folder = options.folder ?? makeFolder();
  const clock = createVirtualClock({ startMs: START_MS });
  const simulator = createSimulator({
    sizes: SIZES,
    rateLimit: unlimited,
    ...options.simulator,
    accounts: names.map((name) => ({
      name,
      key: keyOf(name),
      revoked: revoked.includes(name),
      ...options.accounts?.find((one) => one.name === name),
    })),
  });
  const transport = createSimulatorTransport(simulator, clock);
  const engine: Engine = {
    ...defaultEngine,
    runSync: (settings, run) =>
      defaultEngine.runSync(settings, { ...run, clock, transport, random: () => 0.5 } as typeof run),
  };

  let address = 'http://127.0.0.1:9/api/v1';

  function writeConfig(listed: readonly string[], own = options.own): void {
    mkdirSync(join(folder, 'keys'), { recursive: true });
    for (const name of listed) {
      writeFileSync(join(folder, 'keys', name), `${keyOf(name)}\n`, { mode: 0o600 });
      chmodSync(join(folder, 'keys', name), 0o600);
    }
    const config = {
      source: {
        connector: 'analytics-read',
        baseUrl: address,
        apiKey: '${file:./keys/${account}}',
        quota: { ledgerDir: './ledger', burstPerSecond: unlimited.burstPerSecond },
      },
      destination: { parquet: './lake/account=${account}', duckdb: './accounts/${account}.duckdb' },
      accounts: Object.fromEntries(listed.map((name) => [name, own?.[name] ?? {}])),
      ...options.config,
    };
    // JSON is YAML.
    writeFileSync(join(folder, 'sluice.yaml'), JSON.stringify(config));
  }

  async function run(args: readonly string[], line: LineOptions = {}): Promise<AccountsLine> {
    const written = { stdout: '', stderr: '' };
    const capture = (name: keyof typeof written) => ({
      write(text: string) {
        written[name] += text;
        return true;
      },
    });
    const exitCode = await runCli([...args, '--config', join(folder, 'sluice.yaml')], {
      output: createOutput({
        stdout: capture('stdout'),
        stderr: capture('stderr'),
        env: {},
        mask: (text) => text,
      }),
      env: { HOME: folder },
      cwd: folder,
      clock,
      randomHex: (digits) => '0123456789abcdef'.repeat(4).slice(0, digits),
      signal: line.signal ?? new AbortController().signal,
      chooseStop: () => undefined,
      engine: { ...engine, ...line.engine },
      keepSecret: () => undefined,
      prompt: undefined,
    });
    return { exitCode, ...written };
  }

  writeConfig(names);
  const file = (account: string) => join(folder, 'accounts', `${account}.duckdb`);
  return {
    folder,
    clock,
    simulator,
    engine,
    run,
    writeConfig,
    serve(baseUrl) {
      address = baseUrl;
      writeConfig(names);
    },
    async sync(args = [], line = {}) {
      const { stdout } = await run(['sync', '--json', ...args], line);
      return (JSON.parse(stdout) as { readonly result: AccountsReport }).result;
    },
    async rows(account, table) {
      return sortRows((await queryCopy(file(account), `SELECT * FROM main."${table}"`)).rows);
    },
    isPublished: (account) => existsSync(file(account)),
    async clean(account) {
      const { folder: _folder, revoked: _revoked, ...same } = options;
      const alone = createAccountsFlow({ ...same, names: [account] });
      alone.simulator.advanceDay(dayOf(simulator) - dayOf(alone.simulator));
      await alone.sync();
      return alone;
    },
  };
}

function dayOf(simulator: Simulator): number {
  return Math.round(Date.parse(`${simulator.day}T00:00:00Z`) / DAY_MS);
}

function keyOf(name: string): string {
  return `key-of-${name}-0123456789`;
}
