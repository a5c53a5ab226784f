import { redact } from '../../../src/text/redact.ts';
import type { Clock } from '../../../src/model/clock.ts';
import type { CliContext, GlobalValues, Prompt } from '../../../src/cli/frame/context.ts';
import { createOutput } from '../../../src/cli/terminal/output.ts';
import type { OutputStream } from '../../../src/cli/terminal/output.ts';
import { runCli } from '../../../src/cli/run-cli.ts';
import type { StopBehaviour } from '../../../src/cli/terminal/signals.ts';
import { createFakeEngine, type FakeAnswers } from './fake-engine.ts';
import { NOW_MS } from './reports.ts';

/** The world a test gives a command. */
export interface World {
  readonly engine?: FakeAnswers;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Width of both terminals; without one neither stream is a terminal. */
  readonly columns?: number;
  readonly signal?: AbortSignal;
  readonly prompt?: Prompt;
  readonly clock?: Clock;
}

/** What a command did to its world. */
export interface Captured {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly calls: ReturnType<typeof createFakeEngine>['calls'];
  readonly stop: StopBehaviour | undefined;
  /** Each choice of it, in order. */
  readonly stops: readonly StopBehaviour[];
}

/** A stream that keeps what is written to it. */
export function createCapture(columns?: number): OutputStream & { readonly text: () => string } {
  let text = '';
  return {
    write(chunk: string) {
      text += chunk;
      return true;
    },
    ...(columns !== undefined && { isTTY: true, columns }),
    text: () => text,
  };
}

/** A clock that stands still. */
export const stoppedClock: Clock = {
  now: () => NOW_MS,
  monotonic: () => 0,
  sleep: () => Promise.resolve(),
};

/** Runs a command line in a captured world. */
export async function run(argv: readonly string[], world: World = {}): Promise<Captured> {
  const { context, stdout, stderr, calls, stops } = createWorld(world);
  const exitCode = await runCli(argv, context);
  return { exitCode, stdout: stdout.text(), stderr: stderr.text(), calls, stop: stops.at(-1), stops };
}

/** No option that all commands have. */
export const noGlobals: GlobalValues = {
  config: undefined,
  json: undefined,
  logLevel: undefined,
  logFormat: undefined,
  noProgress: undefined,
};

/** Makes a context whose streams are captured. */
export function createWorld(world: World = {}) {
  const { env = {}, columns, cwd = '/nowhere' } = world;
  const stdout = createCapture(columns);
  const stderr = createCapture(columns);
  const secrets = new Set<string>();
  const { engine, calls } = createFakeEngine(world.engine);
  const stops: StopBehaviour[] = [];
  const context: CliContext = {
    output: createOutput({ stdout, stderr, env, mask: (text) => redact(text, [...secrets]) }),
    env,
    clock: world.clock ?? stoppedClock,
    randomHex: (digits) => '0123456789abcdef'.slice(0, digits),
    cwd,
    signal: world.signal ?? new AbortController().signal,
    chooseStop: (behaviour) => {
      stops.push(behaviour);
    },
    engine,
    keepSecret: (secret) => void secrets.add(secret),
    prompt: world.prompt,
  };
  return { context, stdout, stderr, calls, stop: () => stops.at(-1), stops };
}
