import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A server in a process of its own, which ends with ours, even where ours is killed. */
export interface ServerChild {
  /** What `ready` found in its output. */
  readonly found: RegExpExecArray;
  stop(): Promise<void>;
}

export interface ServerOptions {
  /** What it writes once it answers. */
  readonly ready: RegExp;
  /** The signal that ends it at once. */
  readonly endSignal: 'SIGKILL' | 'SIGQUIT';
  /** Run it as the user nobody where we are root. */
  readonly asNobody?: boolean;
}

/** What `setpriv` needs to run a program as nobody; nothing where we are not root. */
export function asNobodyArgs(): readonly string[] {
  return process.getuid?.() === 0 ? ['--reuid=65534', '--regid=65534', '--clear-groups'] : [];
}

/** Starts a server and waits until it answers. Throws with its last lines when it ends before. */
export async function startServer(
  command: readonly string[],
  { ready, endSignal, asNobody = false }: ServerOptions,
): Promise<ServerChild> {
  const child = spawn(
    'setpriv',
    [`--pdeathsig=${endSignal.slice(3)}`, ...(asNobody ? asNobodyArgs() : []), ...command],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const closed = once(child, 'close');
  let output = '';
  let isReady = false;
  const found = await new Promise<RegExpExecArray>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () =>
      reject(new Error(`${command[0] ?? ''} ended before it answered: ${output.trimEnd().slice(-1000)}`)),
    );
    // Read to its end: a server whose output nobody reads stops when the pipe is full.
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        if (isReady) return;
        output += String(chunk);
        const match = ready.exec(output);
        if (match === null) return;
        isReady = true;
        resolve(match);
      });
  });
  return {
    found,
    async stop() {
      child.kill(endSignal);
      await closed;
    },
  };
}
