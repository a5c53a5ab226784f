import { type ChildProcess, spawn } from 'node:child_process';

/** How a process ended and what it wrote. */
export interface ProcessEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface NodeOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly ipc?: boolean;
  /** A command that starts it, e.g. `['strace', '-f']`. */
  readonly within?: readonly string[];
}

/** Starts a TypeScript file in a Node of its own, without experimental warnings. */
export function startNode(
  file: string,
  args: readonly string[] = [],
  options: NodeOptions = {},
): ChildProcess {
  const { cwd, env, ipc = false, within = [] } = options;
  const [command = '', ...rest] = [...within, process.execPath, '--no-warnings', file, ...args];
  return spawn(command, rest, {
    stdio: ['ignore', 'pipe', 'pipe', ...(ipc ? (['ipc'] as const) : [])],
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...process.env, ...env },
  });
}

/** Waits for a process to end. */
export function waitForEnd(child: ChildProcess): Promise<ProcessEnd> {
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk) => (stdout += String(chunk)));
  child.stderr?.on('data', (chunk) => (stderr += String(chunk)));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode, signal) => resolve({ exitCode, signal, stdout, stderr }));
  });
}
