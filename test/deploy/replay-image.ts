import { strict as assert } from 'node:assert';
import { type ChildProcess, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSimulatorServer } from '../../src/simulator/server.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { DEMO_KEY } from '../../src/simulator/simulator-options.ts';
import { type Entry, findObstacle, startInRoot } from './bare-root.ts';
import { buildImage, type Image } from './build-image.ts';
import { root } from './dockerfile.ts';
import { type Outcome, waitForOutcome } from './outcome.ts';

const STOP_WITHIN_MS = 5000;

/**
 * Follows the Dockerfile in bare root folders and runs what comes of it as its container would: as process 1, as
 * user 10001 without capabilities, with a read-only root and an empty environment.
 */
export async function replayImage(say: (text: string) => void): Promise<string> {
  const obstacle = findObstacle();
  if (obstacle !== undefined) return `left out: ${obstacle}`;
  const place = mkdtempSync(join(tmpdir(), 'sluice-image-'));
  try {
    chmodSync(place, 0o755);
    const image = await buildImage(place, say);
    const container = prepareContainer(image, place);
    await checkCommands(container, say);
    await checkDemo(container, say);
    await checkSync(container, say);
    await checkSchedule(container, say);
    const program = join(image.folder, 'sluice');
    return `fine; /sluice is ${readSizeMb(program)} MB, Node aside`;
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

interface Container {
  readonly image: Image;
  readonly data: string;
  /** Writes the config that is mounted, with the simulator's address. */
  configure(baseUrl: string): void;
  start(args: readonly string[], extra?: Partial<Entry>): ChildProcess;
}

function prepareContainer(image: Image, place: string): Container {
  const mounts = {
    data: join(place, 'data'),
    config: join(place, 'config'),
    secrets: join(place, 'secrets'),
  };
  for (const folder of Object.values(mounts)) mkdirSync(folder);
  const inImage = statSync(join(image.folder, 'data'));
  // A new volume takes over the owner of the folder it is mounted on.
  chownSync(mounts.data, inImage.uid, inImage.gid);
  const key = join(mounts.secrets, 'analytics_api_key');
  writeFileSync(key, `${DEMO_KEY}\n`, { mode: 0o440 });
  chownSync(key, 0, image.uid ?? 0);
  const { uid, env, workDir, entrypoint } = image;
  const base = { env, workDir, isReadOnly: true, ...(uid !== undefined && { uid }) };
  const volumes = { '/data': mounts.data, '/etc/sluice': mounts.config, '/run/secrets': mounts.secrets };
  return {
    image,
    data: mounts.data,
    configure(baseUrl) {
      const text = readFileSync(join(root, 'docker/config/sluice.yaml'), 'utf8');
      const changed = text.replace(/baseUrl: .*/, `baseUrl: ${baseUrl}`);
      assert.notEqual(changed, text);
      writeFileSync(join(mounts.config, 'sluice.yaml'), changed);
    },
    start: (args, extra = {}) =>
      startInRoot(image.folder, [...entrypoint, ...args], {
        ...base,
        volumes,
        ...extra,
        env: { ...env, ...extra.env },
      }),
  };
}

async function checkCommands(container: Container, say: (text: string) => void): Promise<void> {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const asked = await waitForOutcome(container.start(['--version'], { isOffline: true }));
  expectExit(asked, 0);
  assert.match(asked.stdout, new RegExp(`\\b${version.replaceAll('.', '\\.')}\\b`));
  const alone = await waitForOutcome(container.start(container.image.command, { isOffline: true }));
  expectExit(alone, 0);
  assert.match(alone.stdout, /sluice sync/);
  const lost = await waitForOutcome(container.start(['sync'], { isOffline: true }));
  expectExit(lost, 2);
  assert.match(lost.stderr, /\/etc\/sluice\/sluice\.yaml/);
  // As in compose.yaml: nothing is mounted, nothing may be written.
  const simulator = container.start(['simulate', '--port', '0'], { isOffline: true, volumes: {} });
  const { outcome: stopped } = await stopWhen(simulator, /http:/);
  expectExit(stopped, 143);
  say('runs as process 1, as a number, with an empty environment');
}

async function checkDemo(container: Container, say: (text: string) => void): Promise<void> {
  const demo = await waitForOutcome(container.start(['demo', '--dir', '/data/demo'], { isOffline: true }));
  expectExit(demo, 0);
  assert.match(demo.stdout, /visibility_mentions +verified/);
  const { uid } = statSync(join(container.data, 'demo/warehouse.duckdb'));
  assert.equal(uid, container.image.uid);
  say('the demo works without a network on a read-only root');
}

async function checkSync(container: Container, say: (text: string) => void): Promise<void> {
  const server = await startSimulatorServer(createSimulator({ keys: [DEMO_KEY] }));
  try {
    container.configure(server.baseUrl);
    const result = await waitForOutcome(container.start(['sync', '--json']));
    expectExit(result, 0);
    assert.doesNotMatch(result.stdout + result.stderr, new RegExp(DEMO_KEY));
    assert.deepEqual(readdirSync(container.data).toSorted(), ['demo', 'published', 'quota', 'state']);
    // Readers on the host are other users.
    assert.equal(statSync(join(container.data, 'published/warehouse.duckdb')).mode & 0o044, 0o044);
    assert.equal(statSync(join(container.data, 'state')).mode & 0o077, 0);
    // An ephemeral container lost its state, and continues from the published file.
    rmSync(join(container.data, 'state'), { recursive: true });
    const again = await waitForOutcome(container.start(['sync', '--json']));
    expectExit(again, 0);
    assert.match(again.stdout, /"fresh"/);
    say('a sync with the key as a file works, and goes on without its state folder');
  } finally {
    await server.close();
  }
  const small = createSimulator({ keys: [DEMO_KEY], rateLimit: { requestsPerHour: 3 } });
  const scarce = await startSimulatorServer(small);
  try {
    for (const name of ['state', 'published', 'quota'])
      rmSync(join(container.data, name), { recursive: true });
    container.configure(scarce.baseUrl);
    const waiting = container.start(['sync', '--log-format', 'json']);
    const { outcome, tookMs } = await stopWhen(waiting, /wait/i);
    expectExit(outcome, 143);
    assert.ok(tookMs < STOP_WITHIN_MS, `it took ${tookMs} ms to stop`);
    say('SIGTERM ends a sync that waits for the quota, with exit code 143');
  } finally {
    await scarce.close();
  }
}

async function checkSchedule(container: Container, say: (text: string) => void): Promise<void> {
  const server = await startSimulatorServer(createSimulator({ keys: [DEMO_KEY] }));
  const port = String(await findFreePort());
  const env = { SLUICE_METRICS_PORT: port, SLUICE_METRICS_HOST: '127.0.0.1', SLUICE_LOG_FORMAT: 'json' };
  try {
    for (const name of ['state', 'published', 'quota']) {
      rmSync(join(container.data, name), { recursive: true, force: true });
    }
    container.configure(server.baseUrl);
    const schedule = container.start(['schedule', '--cron', '17 5 * * *'], { env });
    const { healthcheck, folder, workDir } = container.image;
    let health: Outcome | undefined;
    const { outcome, tookMs } = await stopWhen(schedule, /\n/, async () => {
      const probe = { env: { ...container.image.env, ...env }, workDir, isReadOnly: true };
      for (let left = 20; left > 0 && health?.exitCode !== 0; left -= 1)
        health = await waitForOutcome(startInRoot(folder, healthcheck, probe));
      const metrics = await fetch(`http://127.0.0.1:${port}/metrics`);
      assert.match(await metrics.text(), /^sluice_/m);
    });
    assert.equal(health?.exitCode, 0, health?.stderr);
    expectExit(outcome, 143);
    assert.ok(tookMs < STOP_WITHIN_MS, `it took ${tookMs} ms to stop`);
    const away = await waitForOutcome(
      startInRoot(folder, healthcheck, {
        env: { ...container.image.env, ...env },
        workDir,
        isReadOnly: true,
      }),
    );
    expectExit(away, 1);
    say('the health check asks the schedule, which SIGTERM ends');
  } finally {
    await server.close();
  }
}

/** Stops process 1 of a container once it has said something, and `meanwhile` is over. */
async function stopWhen(
  child: ChildProcess,
  said: RegExp,
  meanwhile: () => Promise<void> = () => Promise.resolve(),
): Promise<{ readonly outcome: Outcome; readonly tookMs: number }> {
  let text = '';
  const heard = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk) => {
        text += String(chunk);
        if (said.test(text)) resolve();
      });
  });
  const end = waitForOutcome(child);
  const early = await Promise.race([heard, end]);
  if (early !== undefined) return { outcome: early, tookMs: 0 };
  let stoppedAtMs = performance.now();
  try {
    await meanwhile();
  } finally {
    // What ended by itself while it was looked at says more by its outcome than by a signal that has nowhere to go.
    if (child.exitCode === null) {
      const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
      stoppedAtMs = performance.now();
      process.kill(Number(children.trim().split(' ')[0]), 'SIGTERM');
    }
  }
  const outcome = await end;
  return { outcome, tookMs: performance.now() - stoppedAtMs };
}

function expectExit({ exitCode, stdout, stderr }: Outcome, wanted: number): void {
  assert.equal(exitCode, wanted, `exit code ${exitCode}, not ${wanted}\n${stdout}${stderr}`);
}

function readSizeMb(folder: string): number {
  const { stdout } = spawnSync('du', ['--summarize', '--block-size=1M', folder], { encoding: 'utf8' });
  return Number(stdout.split('\t')[0]);
}

function findFreePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
