import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Engine } from '../../../src/cli/frame/engine.ts';
import { collectSecrets } from '../../../src/cli/prepare-process.ts';
import type { CliContext } from '../../../src/cli/frame/context.ts';
import { defaultEngine } from '../../../src/cli/default-engine.ts';
import { createOutput } from '../../../src/cli/terminal/output.ts';
import { runCli } from '../../../src/cli/run-cli.ts';
import type { ConfigInput } from '../../../src/model/config.ts';
import type { ExchangeLimits } from '../../../src/http/exchange.ts';
import type { Transport } from '../../../src/model/http.ts';
import { redact } from '../../../src/text/redact.ts';
import { createCapture } from '../../cli/support/capture.ts';
import { makeFolder, noBuiltIns, START_MS } from '../../support/sync-harness.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';
import { createWireTransport } from './wire-flow.ts';

/** How a command line ended and what it wrote. */
export interface CliEnd {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliProject {
  readonly folder: string;
  readonly duckdbPath: string;
  readonly stateDir: string;
  readonly clock: VirtualClock;
  /** Runs a command line in this process, as `main` would, on a clock whose waits take no time. */
  run(argv: readonly string[], world?: CliWorld): Promise<CliEnd>;
}

export interface CliWorld {
  readonly env?: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal;
  readonly columns?: number;
  readonly engine?: Partial<Engine>;
}

export interface CliProjectOptions {
  readonly baseUrl: string;
  readonly apiKey?: string;
  readonly config?: {
    readonly source?: Partial<ConfigInput['source']>;
    readonly streams?: ConfigInput['streams'];
    readonly defaults?: ConfigInput['defaults'];
  };
  readonly limits?: Partial<ExchangeLimits>;
  /** An earlier project's, to continue in; a new one when left out. */
  readonly folder?: string;
  /** Shared by projects that live in one time. */
  readonly clock?: VirtualClock;
  /** Replaces the wire. */
  readonly transport?: (clock: VirtualClock) => Transport;
}

const NOBODY = new AbortController().signal;

/** A folder with a `sluice.yaml`, as a user has one. */
export function createCliProject(options: CliProjectOptions): CliProject {
  const { folder = makeFolder(), config = {}, apiKey = 'test-key-0123456789' } = options;
  const duckdbPath = join(folder, 'warehouse.duckdb');
  const stateDir = join(folder, 'state');
  const file = join(folder, 'sluice.yaml');
  const written = {
    source: {
      connector: 'analytics-read',
      baseUrl: options.baseUrl,
      apiKey: '${ANALYTICS_API_KEY}',
      quota: { ledgerDir: join(folder, 'quota'), burstPerSecond: 1_000 },
      ...config.source,
    },
    destination: { duckdb: duckdbPath },
    stateDir,
    streams: config.streams ?? { ...noBuiltIns, items: { path: 'items', paginated: true } },
    ...(config.defaults && { defaults: config.defaults }),
  };
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(written, null, 2));
  const { clock = createVirtualClock({ startMs: START_MS }) } = options;
  const transport = options.transport?.(clock) ?? createWireTransport(options.baseUrl, clock, options.limits);

  async function run(argv: readonly string[], world: CliWorld = {}): Promise<CliEnd> {
    const env = { ANALYTICS_API_KEY: apiKey, SLUICE_CONFIG: file, ...world.env };
    const stdout = createCapture(world.columns);
    const stderr = createCapture(world.columns);
    const secrets = new Set(collectSecrets(env));
    const effects = { clock, transport, random: () => 0.5 };
    const context: CliContext = {
      output: createOutput({ stdout, stderr, env, mask: (text) => redact(text, [...secrets]) }),
      env,
      clock,
      randomHex: (digits) => '0123456789abcdef'.slice(0, digits),
      cwd: folder,
      signal: world.signal ?? NOBODY,
      chooseStop: () => undefined,
      engine: {
        ...defaultEngine,
        async runSync(settings, given) {
          const { runSync } = await import('../../../src/sync/run.ts');
          return runSync(settings, { ...given, ...effects });
        },
        async planSync(settings, given) {
          const { planSync } = await import('../../../src/commands/plan/plan.ts');
          return planSync(settings, { ...given, ...effects });
        },
        async runChecks(settings, given) {
          const { runChecks } = await import('../../../src/commands/check.ts');
          return runChecks(settings, { ...given, ...effects });
        },
        async discover(settings, given) {
          const { discover } = await import('../../../src/commands/discover/discover.ts');
          return discover(settings, { ...given, ...effects });
        },
        ...world.engine,
      },
      keepSecret: (secret) => void secrets.add(secret),
      prompt: undefined,
    };
    const exitCode = await runCli(argv, context);
    return { exitCode, stdout: stdout.text(), stderr: stderr.text() };
  }

  return { folder, duckdbPath, stateDir, clock, run };
}
