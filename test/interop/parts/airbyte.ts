import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startSimulatorServer } from '../../../src/simulator/server.ts';
import { createSimulator, type Simulator } from '../../../src/simulator/simulator.ts';
import { DEMO_KEY } from '../../../src/simulator/simulator-options.ts';
import { root } from '../../deploy/dockerfile.ts';
import { waitForOutcome } from '../../deploy/outcome.ts';
import { cliEntry } from '../../support/cli-entry.ts';
import { startPostgres } from '../../support/lake-servers.ts';
import type { Interop } from '../part.ts';
import { requirePython } from '../python-environment.ts';
import { writeClientConfig } from '../write-client-config.ts';

const PACKAGES = ['airbyte==0.71.3'];
const UNLIMITED = { requestsPerHour: 1_000_000, burstPerSecond: 100_000 };
/** Enough for the first stream and half of the second. */
const FEW_REQUESTS = 12;

/** PyAirbyte would call home. */
const OFFLINE = { DO_NOT_TRACK: '1', AIRBYTE_OFFLINE_MODE: '1' };

type Counts = Readonly<Record<string, { readonly rows: number; readonly deleted: number }>>;

/** PyAirbyte with its caches: three days with restatements and deletes, and a quota that ends in the middle. */
export async function proveAirbyte(interop: Interop): Promise<void> {
  const bin = requirePython(PACKAGES);
  const postgres = await startPostgres();
  try {
    await proveDays(interop, bin, { kind: 'DuckDB', place: { path: join(interop.folder, 'cache.duckdb') } });
    await postgres.createDatabase('cache');
    const { port, user, password } = postgres;
    const place = { host: '127.0.0.1', port, user, password, database: 'cache' };
    await proveDays(interop, bin, { kind: 'Postgres', place });
  } finally {
    await postgres.stop();
  }
  await proveQuota(interop, bin);
  await proveExample(interop, bin);
}

interface Cache {
  readonly kind: string;
  readonly place: object;
}

/** Each day rows are new, changed in place and gone; the cache then equals the table, value by value. */
async function proveDays(interop: Interop, bin: string, { kind, place }: Cache): Promise<void> {
  const { say } = interop;
  const folder = join(interop.folder, kind);
  mkdirSync(folder);
  const simulator = createSimulator({ keys: [DEMO_KEY], rateLimit: UNLIMITED });
  const server = await startSimulatorServer(simulator);
  try {
    const config = writeClientConfig(folder, server.baseUrl);
    for (let day = 1; day <= 3; day += 1) {
      const counts = await read(interop, bin, { folder, config, place });
      assert.equal(counts['commerce_category_products']?.deleted, (day - 1) * 2);
      say(`${kind}, day ${day}: ${describe(counts)}`);
      changeRows(simulator);
    }
  } finally {
    await server.close();
  }
}

/** The quota ends during the first sync: what is there is stored, and the next read brings the rest. */
async function proveQuota(interop: Interop, bin: string): Promise<void> {
  const folder = join(interop.folder, 'quota');
  mkdirSync(folder);
  const limits = { ...UNLIMITED, requestsPerHour: FEW_REQUESTS };
  const before = await startSimulatorServer(createSimulator({ keys: [DEMO_KEY], rateLimit: limits }));
  const config = writeClientConfig(folder, before.baseUrl);
  const place = { path: join(folder, 'cache.duckdb') };
  const port = Number(new URL(before.baseUrl).port);
  let first: Counts;
  try {
    first = await read(interop, bin, { folder, config, place });
  } finally {
    await before.close();
  }
  // An hour later: the same data, a new window.
  rmSync(join(folder, 'ledger'), { recursive: true });
  const after = await startSimulatorServer(createSimulator({ keys: [DEMO_KEY], rateLimit: UNLIMITED }), {
    port,
  });
  try {
    const second = await read(interop, bin, { folder, config, place });
    assert.ok(Object.keys(first).length < Object.keys(second).length);
    interop.say(
      `a quota of ${FEW_REQUESTS} requests: ${describe(first)}; an hour later: ${describe(second)}`,
    );
  } finally {
    await after.close();
  }
}

async function proveExample({ folder, env, say }: Interop, bin: string): Promise<void> {
  const place = join(folder, 'example');
  mkdirSync(place);
  const child = spawn(join(bin, 'python'), [join(root, 'examples/pyairbyte.py')], {
    cwd: place,
    env: { ...env, ...OFFLINE, SLUICE_SOURCE: writeExecutable(place) },
  });
  const { exitCode, stdout, stderr } = await waitForOutcome(child);
  assert.equal(exitCode, 0, stderr);
  assert.match(stdout, /^prompts_analytics \d+$/m);
  say('examples/pyairbyte.py runs');
}

/** Restates some records, removes two, and moves on a day, which adds some. */
function changeRows(simulator: Simulator): void {
  simulator.editRecords('commerce/category-products', (records) =>
    [...records]
      .slice(2)
      .map((record, at) => (at % 50 === 0 ? { ...(record as object), title: `Restated ${at}` } : record)),
  );
  simulator.advanceDay();
}

async function read(
  { env }: Interop,
  bin: string,
  { folder, config, place }: { readonly folder: string; readonly config: string; readonly place: object },
): Promise<Counts> {
  const executable = writeExecutable(folder);
  const job = {
    executable,
    config: { config_path: config },
    cache: place,
    warehouse: join(folder, 'warehouse.duckdb'),
  };
  const program = [join(root, 'test/interop/run-pyairbyte.py'), JSON.stringify(job)];
  const child = spawn(join(bin, 'python'), program, {
    cwd: folder,
    env: { ...env, ...OFFLINE },
  });
  const { exitCode, stdout, stderr } = await waitForOutcome(child);
  assert.equal(exitCode, 0, `${stderr}\n${stdout}`);
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as Counts;
}

/** `source-sluice`, on this Node. */
function writeExecutable(folder: string): string {
  const file = join(folder, 'source-sluice');
  const entry = cliEntry.replace(/bin\.(js|ts)$/, 'source-bin.$1');
  writeFileSync(file, `#!/bin/sh\nexec "${process.execPath}" "${entry}" "$@"\n`);
  chmodSync(file, 0o755);
  return file;
}

function describe(counts: Counts): string {
  return Object.entries(counts)
    .map(([stream, { rows, deleted }]) => `${stream} ${rows}${deleted === 0 ? '' : ` (${deleted} deleted)`}`)
    .join(', ');
}
