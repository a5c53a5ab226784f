import { spawn } from 'node:child_process';
import type { CommandTarget } from '../model/notify.ts';

/** What a program is started with in addition to its words. */
export interface CommandInput {
  /** Written to its stdin. */
  readonly text: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal | undefined;
  readonly deadlineMs?: number;
}

const DEADLINE_MS = 30_000;
const KEPT_BYTES = 2_000;

/**
 * Starts a program without a shell and waits for its end, at most 30 s; returns what went wrong, or undefined.
 * Never throws. What it prints is shown only when it fails.
 */
export function runCommand(target: CommandTarget, input: CommandInput): Promise<string | undefined> {
  const { program, args, cwd } = target;
  const ended = new Promise<string | undefined>((resolve) => {
    const child = spawn(program, args, {
      cwd,
      env: { ...input.env },
      shell: false,
      stdio: ['pipe', 'ignore', 'pipe'],
      windowsHide: true,
      // A group of its own, so that its child processes end with it, and Ctrl-C in a terminal only reaches
      // Sluice.
      detached: process.platform !== 'win32',
    });
    let output = '';
    let cause: string | undefined;
    const end = (why: string) => {
      cause ??= why;
      killGroup(child.pid);
    };
    const deadlineMs = input.deadlineMs ?? DEADLINE_MS;
    const timer = setTimeout(() => end(`it did not end within ${deadlineMs / 1_000} s`), deadlineMs);
    const onAbort = () => end('the command was stopped');
    const finish = (flaw: string | undefined) => {
      clearTimeout(timer);
      input.signal?.removeEventListener('abort', onAbort);
      // Background processes it leaves keep the pipe open, and are not waited for.
      child.stderr.destroy();
      resolve(flaw);
    };
    if (input.signal?.aborted === true) onAbort();
    else input.signal?.addEventListener('abort', onAbort, { once: true });
    child.stderr.on('data', (chunk: Buffer) => {
      output = `${output}${chunk.toString('utf8')}`.slice(-KEPT_BYTES);
    });
    child.on('error', (error: NodeJS.ErrnoException) => finish(describeStart(error)));
    child.on('exit', (code, signal) => finish(cause ?? describeEnd(code, signal, output)));
    // A program that reads nothing may close its end.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input.text);
  });
  // Some failures to start are thrown and not emitted as events.
  return ended.catch((thrown: unknown) => describeStart(thrown as NodeJS.ErrnoException));
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch {
    // It has already ended.
  }
}

function describeStart({ code }: NodeJS.ErrnoException): string {
  if (code === 'ENOENT') return 'there is no such program';
  return code === 'EACCES' ? 'it is not executable (chmod +x)' : `it could not be started (${code})`;
}

function describeEnd(code: number | null, signal: string | null, output: string): string | undefined {
  if (code === 0) return undefined;
  const last = output.trimEnd().split('\n').at(-1)?.trim() ?? '';
  const how = code === null ? `it was ended by ${signal}` : `it ended with code ${code}`;
  return last === '' ? how : `${how}: ${last}`;
}
