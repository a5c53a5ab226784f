// npm run test:fleet [part]: several workers of the built command line with a real Postgres and a real S3 server, killed,
// paused and cut off. SLUICE_FLEET_PROOF=large has a hundred accounts and every step, and takes hours.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { explainMissing, startObjectStore, startPostgres } from '../support/lake-servers.ts';
import { cliEntry, isBuilt } from '../support/cli-entry.ts';
import { parts } from './parts.ts';
import { Verdicts } from './verdicts.ts';

const AT_ONCE = 3;
const say = (text: string) => void process.stdout.write(`${text}\n`);
const only = process.argv[2];
const isLarge = process.env['SLUICE_FLEET_PROOF'] === 'large';
const names = Object.keys(parts).filter((name) => only === undefined || name === only);
const missing =
  explainMissing() ?? (isBuilt ? undefined : 'the command line is not built: run npm run build');
if (missing !== undefined || names.length === 0) {
  say(missing ?? `there is no part "${only ?? ''}"; the parts are ${Object.keys(parts).join(', ')}`);
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-fleet-proof-'));
const [postgres, store] = await Promise.all([startPostgres({ keepsCommits: true }), startObjectStore()]);
let failed = 0;
let held = 0;
const waiting = [...names];
try {
  // Most of their time they wait for windows and leases.
  await Promise.all(Array.from({ length: isLarge ? 1 : AT_ONCE }, runNext));
} finally {
  await Promise.allSettled([postgres.stop(), store.stop()]);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
say(`${held} claims hold, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

async function runNext(): Promise<void> {
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    const beganMs = performance.now();
    const verdicts = new Verdicts(name, say);
    try {
      await parts[name]?.({ stage: { cli: cliEntry, folder, postgres, store }, verdicts, isLarge });
    } catch (thrown) {
      const why = thrown instanceof Error ? (thrown.stack ?? '') : String(thrown);
      verdicts.check('it ran to its end', false, why);
    }
    say(`== ${name}: ${Math.round((performance.now() - beganMs) / 1000)} s`);
    failed += verdicts.failed;
    held += verdicts.held;
  }
}
