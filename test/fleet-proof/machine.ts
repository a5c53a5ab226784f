import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A line of a worker's log. */
export type WorkerLine = Readonly<Record<string, unknown>>;

export interface MachineOptions {
  /** The built command line. */
  readonly cli: string;
  /** The folder with the config. */
  readonly project: string;
  readonly env: NodeJS.ProcessEnv;
  readonly lanes: number;
  readonly name: string;
}

/** A machine with one worker: processes that are killed, paused and drained together, and a disk of its own. */
export class Machine {
  readonly lines: WorkerLine[] = [];
  /** What it wrote that is not a line of a log. */
  readonly noise: string[] = [];
  readonly #child: ChildProcess;
  readonly #scratch: string;
  readonly #exit: Promise<unknown>;

  constructor({ cli, project, env, lanes, name }: MachineOptions) {
    this.#scratch = join(project, 'scratch', name);
    const args = ['fleet', 'worker', '--lanes', String(lanes), '--scratch', this.#scratch];
    this.#child = spawn(process.execPath, [cli, ...args, '--log-format', 'json'], {
      cwd: project,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    this.#exit = once(this.#child, 'exit');
    for (const stream of [this.#child.stdout, this.#child.stderr]) this.#read(stream);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get exitCode(): number | null {
    return this.#child.exitCode;
  }

  /** Lines of one type, of one account where it is given. */
  list(type: string, account?: string): readonly WorkerLine[] {
    return this.lines.filter(
      (line) => line['type'] === type && (account ?? line['account']) === line['account'],
    );
  }

  /** Pauses all of its processes, as a machine that swaps or a virtual one that is moved. */
  pause(): void {
    this.#signal('SIGSTOP');
  }

  goOn(): void {
    this.#signal('SIGCONT');
  }

  /** Cuts its power, and throws its disk away. */
  async kill(): Promise<void> {
    if (!this.isRunning) return;
    this.pause();
    this.#signal('SIGKILL');
    await this.#exit;
    await sleep(50);
    rmSync(this.#scratch, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Asks it to end; resolves to how long it took, ms. */
  async drain(): Promise<number> {
    const beganMs = performance.now();
    this.#child.kill('SIGTERM');
    await this.#exit;
    return performance.now() - beganMs;
  }

  #signal(signal: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid === undefined || !this.isRunning) return;
    // The worker first: it must not start others meanwhile. Those of one that is gone could not be found any more.
    if (signal !== 'SIGKILL') send(pid, signal);
    const below = listChildren(pid);
    for (const one of signal === 'SIGKILL' ? [pid, ...below] : below) send(one, signal);
  }

  #read(stream: NodeJS.ReadableStream | null): void {
    let rest = '';
    stream?.on('data', (chunk) => {
      const parts = (rest + String(chunk)).split('\n');
      rest = parts.pop() ?? '';
      for (const line of parts) this.#keep(line);
    });
  }

  #keep(line: string): void {
    try {
      this.lines.push({ ...(JSON.parse(line) as WorkerLine), seenAtMs: Date.now() });
    } catch {
      if (line.trim() !== '') this.noise.push(line);
    }
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It is gone.
  }
}

/** All processes below one, the nearest first. */
function listChildren(pid: number): readonly number[] {
  const parents = readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      // After the name of the program, which may have blanks in it.
      const [, parent] = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      return [{ pid: Number(name), parent: Number(parent) }];
    } catch {
      return [];
    }
  });
  const below = (one: number): readonly number[] =>
    parents.filter(({ parent }) => parent === one).flatMap((child) => [child.pid, ...below(child.pid)]);
  return below(pid);
}
