import { spawn } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConfigInput } from '../../src/model/config.ts';

/** How a process ended, and what it reported about itself at its end. */
export interface ProcessFacts {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** From the start of the process to its end. */
  readonly seconds: number;
  /** Most memory it had in RAM, MB; undefined where it could not report it. */
  readonly peakMb: number | undefined;
  /** What it computed in all its threads, user and system; undefined where it could not report it. */
  readonly cpuSeconds: number | undefined;
  /** Address of every module it loaded, when that was asked for. */
  readonly modules: readonly string[];
}

export interface ProcessOptions {
  readonly cwd: string;
  /** Report the modules, which makes it slower. */
  readonly traceModules?: boolean;
  /** A command line that starts it, e.g. one that sets a limit. */
  readonly within?: readonly string[];
}

const KEY = 'bench-key-0123456789';
const STREAMS = [
  'visibility_mentions',
  'prompts_analytics',
  'commerce_category_products',
  'commerce_top_products',
];

/** Writes `sluice.yaml` for one paginated stream of pages from here, with the limits lifted. */
export function writeProject(folder: string, origin: string, defaults: ConfigInput['defaults'] = {}): void {
  const config: ConfigInput = {
    source: {
      connector: 'analytics-read',
      baseUrl: `${origin}/v1`,
      apiKey: '${ANALYTICS_API_KEY}',
      quota: { burstPerSecond: 1_000_000, requestsPerHour: 100_000_000, ledgerDir: './quota' },
    },
    destination: { duckdb: './warehouse.duckdb' },
    defaults,
    streams: {
      ...Object.fromEntries(STREAMS.map((name) => [name, { enabled: false }])),
      items: { path: 'items', paginated: true, key: ['id', 'date'] },
    },
  };
  // JSON is YAML.
  writeFileSync(join(folder, 'sluice.yaml'), JSON.stringify(config));
}

/** Runs Node with these arguments to its end, in a process of its own. */
export function runNode(args: readonly string[], options: ProcessOptions): Promise<ProcessFacts> {
  const facts = join(options.cwd, `.facts-${process.hrtime.bigint()}`);
  const preload = ['--no-warnings', '--import', writePreload(facts, options.traceModules === true)];
  const [command = '', ...rest] = [...(options.within ?? []), process.execPath, ...preload, ...args];
  const startedAt = performance.now();
  const child = spawn(command, rest, {
    cwd: options.cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ANALYTICS_API_KEY: KEY, NO_COLOR: '1' },
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => (stdout += String(chunk)));
  child.stderr.on('data', (chunk) => (stderr += String(chunk)));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode, signal) => {
      const seconds = (performance.now() - startedAt) / 1_000;
      resolve({ exitCode, signal, stdout, stderr, seconds, ...readFacts(facts) });
    });
  });
}

/**
 * Runs Node with these arguments to its end, which has to be a good one.
 *
 * @throws Error with what it printed
 */
export async function runWell(args: readonly string[], options: ProcessOptions): Promise<ProcessFacts> {
  const facts = await runNode(args, options);
  if (facts.exitCode !== 0) throw new Error(`${facts.stdout}\n${facts.stderr}`);
  return facts;
}

/**
 * Runs Node as it is, for its time alone.
 *
 * @throws Error when it does not end well
 */
export async function timeNode(args: readonly string[], cwd: string): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, {
    cwd,
    stdio: 'ignore',
    env: { ...process.env, ANALYTICS_API_KEY: KEY, NO_COLOR: '1' },
  });
  const exitCode = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
  if (exitCode !== 0) throw new Error(`node ${args.join(' ')} ended with ${String(exitCode)}`);
  return (performance.now() - startedAt) / 1_000;
}

// A module as text, since a file of TypeScript would bring its compiler into the process that is measured.
function writePreload(facts: string, tracesModules: boolean): string {
  const trace = `const { registerHooks } = await import('node:module');
    registerHooks({ load(url, context, next) { modules.push(url); return next(url, context); } });`;
  const code = `import { readFileSync, writeFileSync } from 'node:fs';
    const modules = [];
    ${tracesModules ? trace : ''}
    process.on('exit', () => {
      let peakMb;
      try { peakMb = Number(/^VmHWM:\\s+(\\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024; } catch {}
      const { user, system } = process.cpuUsage();
      const cpuSeconds = (user + system) / 1e6;
      writeFileSync(${JSON.stringify(facts)}, JSON.stringify({ peakMb, cpuSeconds, modules }));
    });`;
  return `data:text/javascript,${encodeURIComponent(code)}`;
}

function readFacts(file: string): Pick<ProcessFacts, 'peakMb' | 'cpuSeconds' | 'modules'> {
  try {
    const { peakMb, cpuSeconds, modules } = JSON.parse(readFileSync(file, 'utf8')) as {
      readonly peakMb?: number;
      readonly cpuSeconds: number;
      readonly modules: readonly string[];
    };
    rmSync(file);
    return { peakMb, cpuSeconds, modules };
  } catch {
    // A process that was killed reports nothing.
    return { peakMb: undefined, cpuSeconds: undefined, modules: [] };
  }
}
