// npm run test:interop [part]: what we write, read by other people's programs, and ours run by theirs, against a simulated
// API. Most parts need Python 3.9 or newer and a package index; the others what tools/install-proof-tools.sh installs.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSimulatorServer } from '../../src/simulator/server.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { DEMO_KEY } from '../../src/simulator/simulator-options.ts';
import type { InteropPart } from './part.ts';
import { parts } from './parts.ts';

const UNLIMITED = { requestsPerHour: 1_000_000, burstPerSecond: 100_000 };

const say = (text: string) => void process.stdout.write(`${text}\n`);
const only = process.argv[2];
const chosen = Object.entries(parts).filter(([name]) => only === undefined || name === only);
if (chosen.length === 0) {
  say(`there is no part "${only ?? ''}"; the parts are ${Object.keys(parts).join(', ')}`);
  process.exit(2);
}

for (const [name, prove] of chosen) {
  try {
    await runPart(name, prove);
  } catch (thrown) {
    say(`FAILED ${name}: ${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}`);
    process.exitCode = 1;
  }
}

async function runPart(name: string, prove: InteropPart): Promise<void> {
  const beganMs = performance.now();
  const folder = mkdtempSync(join(tmpdir(), 'sluice-interop-'));
  const simulator = createSimulator({ keys: [DEMO_KEY], rateLimit: UNLIMITED });
  const server = await startSimulatorServer(simulator);
  // Programs keep files of their own in it.
  const home = join(folder, 'home');
  mkdirSync(home);
  const env = {
    ...process.env,
    HOME: home,
    ANALYTICS_API_KEY: DEMO_KEY,
    ANALYTICS_BASE_URL: server.baseUrl,
    SLUICE_WAREHOUSE: join(folder, 'warehouse.duckdb'),
    SLUICE_LAKE: join(folder, 'lake'),
    SLUICE_PATIENCE: '60',
  };
  try {
    await prove({ folder, simulator, baseUrl: server.baseUrl, env, say });
  } finally {
    await server.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
  say(`== ${name}: ${Math.round((performance.now() - beganMs) / 1000)} s`);
}
