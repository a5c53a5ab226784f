import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** What a measured process reports about itself; a script prints it as JSON and leaves out what it does not know. */
export interface Measured {
  readonly rows: number;
  readonly changed: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly fetchSeconds: number;
  readonly loadSeconds: number;
  readonly loadCpuSeconds: number;
  /** Publishing the DuckDB file. */
  readonly publishSeconds: number;
  readonly publishedBytes: number;
  /** Publishing the lake, or what else is beside the file. */
  readonly lakeSeconds: number;
  readonly lakeBytes: number;
  readonly peakMb: number;
}

/** Runs a script to its end, in a process of its own. */
export async function measure(
  script: string,
  values: readonly string[],
  nodeOptions: readonly string[] = [],
): Promise<Measured> {
  const args = ['--no-warnings', ...nodeOptions, script, ...values];
  const { stdout } = await execute(process.execPath, args, { maxBuffer: 1 << 24 });
  return JSON.parse(stdout) as Measured;
}

/** A server of pages in a process of its own, so that making them costs the measured one nothing. */
export interface PageServer {
  readonly origin: string;
  /** Sets what it serves from now on; resolves with its answer once it does. */
  tell<Answer = unknown>(message: object): Promise<Answer>;
  stop(): void;
}

/** Starts a server's script. */
export async function serve(script: string, values: readonly string[]): Promise<PageServer> {
  const child = spawn(process.execPath, ['--no-warnings', script, ...values], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const port = await new Promise<string>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`${script} ended before it listened`)));
    child.stdout?.once('data', (chunk: Buffer) => resolve(chunk.toString().trim()));
  });
  return {
    origin: `http://127.0.0.1:${port}`,
    tell: (message) => tell(child, message),
    stop: () => child.disconnect(),
  };
}

function tell<Answer>(child: ChildProcess, message: object): Promise<Answer> {
  return new Promise((resolve, reject) => {
    child.once('message', (answer) => resolve(answer as Answer));
    child.send(message, (error) => {
      if (error !== null) reject(error);
    });
  });
}
