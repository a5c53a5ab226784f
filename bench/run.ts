import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

// Usage: run.ts [ROWS]. Everything in one run, so that the ratios hold on a noisy machine.
const rows = Number(process.argv[2] ?? 200_000);
const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
const here = (name: string) => join(import.meta.dirname, name);

interface Measured {
  readonly rows: number;
  readonly seconds: number;
  readonly peakMb: number;
  readonly changed?: number;
  readonly fetchSeconds?: number;
  readonly publishSeconds?: number;
}

interface Pages {
  readonly origin: string;
  readonly process: ChildProcess;
}

/** Serves the pages from a process of its own until it is stopped. */
async function serve(): Promise<Pages> {
  const child = spawn(process.execPath, [here('serve-pages.ts'), String(rows)], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const port = await new Promise<string>((resolve, reject) => {
    child.once('error', reject);
    child.stdout?.once('data', (chunk: Buffer) => resolve(chunk.toString().trim()));
  });
  return { origin: `http://127.0.0.1:${port}`, process: child };
}

async function measure(script: string, ...values: readonly string[]): Promise<Measured> {
  const { stdout } = await run(process.execPath, [here(script), ...values], { maxBuffer: 1 << 20 });
  return JSON.parse(stdout) as Measured;
}

function tell(name: string, { seconds, peakMb, ...more }: Measured, floor: Measured): void {
  const rate = more.rows / seconds / 1_000;
  const share = floor.seconds / seconds;
  const parts = [
    name.padEnd(28),
    `${seconds.toFixed(2)} s`.padStart(9),
    `${rate.toFixed(0)}k rows/s`.padStart(13),
    `${(share * 100).toFixed(0)} % of the floor`.padStart(18),
    `${peakMb.toFixed(0)} MB`.padStart(8),
    more.publishSeconds === undefined ? '' : `  publish ${more.publishSeconds.toFixed(2)} s`,
  ];
  process.stdout.write(`${parts.join('')}\n`);
}

try {
  const pages = await serve();
  const floor = await measure('floor.ts', pages.origin, String(rows));
  tell('floor', floor, floor);
  tell('first sync', await measure('sync-once.ts', pages.origin, folder), floor);
  tell('same data again', await measure('sync-once.ts', pages.origin, folder), floor);
  tell('an afternoon script', await measure('afternoon.ts', pages.origin, folder), floor);
  pages.process.send({ changedEvery: 100 });
  tell('1 % restated', await measure('sync-once.ts', pages.origin, folder), floor);
  tell('afternoon, 1 % restated', await measure('afternoon.ts', pages.origin, folder), floor);
  pages.process.disconnect();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
